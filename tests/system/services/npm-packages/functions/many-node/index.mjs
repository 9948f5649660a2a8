/** One call of each package that uses files, streams, loggers, or clients of Node.js. The path names the package, the answer is what the call gave. */
import { once } from 'node:events'
import fs from 'node:fs'
import { Readable } from 'node:stream'
import amqp from 'amqplib'
import busboy from 'busboy'
import dotenv from 'dotenv'
import ejs from 'ejs'
import formidable from 'formidable'
import jsonwebtoken from 'jsonwebtoken'
import { MongoClient } from 'mongodb'
import nodemailer from 'nodemailer'
import nunjucks from 'nunjucks'
import pino from 'pino'
import tar from 'tar-stream'
import winston from 'winston'
import xml2js from 'xml2js'
import yargs from 'yargs/yargs'

/** What a client reports of a port that `MCM.OUTBOUND` does not list. */
const refused = (promise) =>
  promise.then(
    () => 'connected',
    (cause) =>
      /EACCES|refused|NotCapable|MCM\.OUTBOUND|ServerSelection|Connection/.test(
        `${cause.code} ${cause.name} ${cause.message}`,
      )
        ? 'refused'
        : String(cause),
  )
const form = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
const formHeaders = {
  'content-type': 'multipart/form-data; boundary=x',
  'content-length': String(form.length),
}

const calls = {
  amqplib: () => refused(amqp.connect('amqp://127.0.0.1:59999')),
  busboy: async () => {
    const parser = busboy({ headers: formHeaders })
    const field = once(parser, 'field')
    Readable.from([form]).pipe(parser)
    return (await field).slice(0, 2)
  },
  dotenv: () => {
    fs.writeFileSync('/tmp/.env', 'A=1\n# no\nB="x y"')
    return dotenv.config({ path: '/tmp/.env', processEnv: {}, quiet: true }).parsed
  },
  ejs: () => {
    fs.writeFileSync('/tmp/part.ejs', 'part <%= a %>')
    return ejs.renderFile('/tmp/part.ejs', { a: 1 })
  },
  formidable: async () => {
    const request = Object.assign(Readable.from([Buffer.from(form)]), { headers: formHeaders })
    return (await formidable({ uploadDir: '/tmp' }).parse(request))[0]
  },
  jsonwebtoken: () => jsonwebtoken.verify(jsonwebtoken.sign({ a: 1 }, 'key', { noTimestamp: true }), 'key'),
  mongodb: () =>
    refused(new MongoClient('mongodb://127.0.0.1:59999', { serverSelectionTimeoutMS: 500 }).connect()),
  nodemailer: async () => {
    const { message } = await nodemailer
      .createTransport({ jsonTransport: true })
      .sendMail({ from: 'a@b.test', to: 'c@d.test', subject: 'x' })
    return JSON.parse(message).subject
  },
  nunjucks: () => nunjucks.renderString('{% for each in a %}<{{ each }}>{% endfor %}', { a: [1, '&'] }),
  pino: () => {
    const log = pino(
      { base: undefined, timestamp: false },
      pino.destination({ dest: '/tmp/log', sync: true }),
    )
    log.info({ a: 1 }, 'hello')
    return JSON.parse(fs.readFileSync('/tmp/log', 'utf8'))
  },
  'tar-stream': async () => {
    const pack = tar.pack()
    pack.entry({ name: 'a' }, 'hello')
    pack.finalize()
    const names = []
    for await (const entry of pack.pipe(tar.extract())) {
      names.push(entry.header.name)
      entry.resume()
    }
    return names
  },
  winston: async () => {
    const log = winston.createLogger({
      transports: [new winston.transports.File({ filename: '/tmp/winston/log' })],
    })
    log.info('hello')
    log.end()
    await once(log, 'finish')
    for (let turn = 0; turn < 1000 && !fs.existsSync('/tmp/winston/log'); turn += 1)
      await new Promise((resolve) => setTimeout(resolve, 1))
    return JSON.parse(fs.readFileSync('/tmp/winston/log', 'utf8')).message
  },
  xml2js: () => xml2js.parseStringPromise('<a><b>1</b></a>'),
  yargs: () => yargs(['--a', '1']).exitProcess(false).parse().a,
}

export default {
  async fetch(request) {
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1))
    return Response.json((await calls[name]()) ?? null)
  },
}
