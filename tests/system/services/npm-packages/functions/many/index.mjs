/** One call of each package that needs nothing but JavaScript. The path names the package, the answer is what the call gave. */
import { decode, encode } from '@msgpack/msgpack'
import Ajv from 'ajv'
import async from 'async'
import bcrypt from 'bcryptjs'
import Big from 'big.js'
import BigNumber from 'bignumber.js'
import { Chalk } from 'chalk'
import * as cheerio from 'cheerio'
import { Command } from 'commander'
import CryptoJS from 'crypto-js'
import { parse as parseCsv } from 'csv-parse/sync'
import { stringify as stringifyCsv } from 'csv-stringify/sync'
import dayjs from 'dayjs'
import debug from 'debug'
import Decimal from 'decimal.js'
import EventEmitter from 'eventemitter3'
import { XMLParser } from 'fast-xml-parser'
import { gunzipSync, gzipSync } from 'fflate'
import { buildSchema, graphql } from 'graphql'
import Handlebars from 'handlebars'
import { parseDocument } from 'htmlparser2'
import iconv from 'iconv-lite'
import { produce } from 'immer'
import { Map as ImmutableMap } from 'immutable'
import ini from 'ini'
import Joi from 'joi'
import * as jose from 'jose'
import * as yaml from 'js-yaml'
import JSZip from 'jszip'
import _ from 'lodash'
import { LRUCache } from 'lru-cache'
import { DateTime } from 'luxon'
import MarkdownIt from 'markdown-it'
import { marked } from 'marked'
import mime from 'mime'
import mimeTypes from 'mime-types'
import minimist from 'minimist'
import moment from 'moment'
import ms from 'ms'
import { nanoid } from 'nanoid'
import forge from 'node-forge'
import pLimit from 'p-limit'
import PQueue from 'p-queue'
import * as pako from 'pako'
import qs from 'qs'
import queryString from 'query-string'
import semver from 'semver'
import { parse as parseToml } from 'smol-toml'
import nacl from 'tweetnacl'
import { v5 as uuid } from 'uuid'
import * as v from 'valibot'
import YAML from 'yaml'
import * as yup from 'yup'
import { z } from 'zod'

const bytes = (text) => new TextEncoder().encode(text)
const text = (given) => new TextDecoder().decode(given)

const calls = {
  '@msgpack/msgpack': () => decode(encode({ a: [1, 'b', null] })),
  ajv: () => new Ajv().validate({ type: 'object', required: ['a'] }, { b: 1 }),
  async: () => async.mapLimit([1, 2, 3], 2, async (n) => n * 2),
  bcryptjs: async () => bcrypt.compare('secret', await bcrypt.hash('secret', 4)),
  'big.js': () => new Big('0.1').plus('0.2').toString(),
  'bignumber.js': () => new BigNumber('1e30').plus(1).toFixed(),
  chalk: () => new Chalk({ level: 1 }).red('x'),
  cheerio: () => cheerio.load('<ul><li>a</li><li>b</li></ul>')('li').last().text(),
  commander: () => new Command().option('-p <port>').parse(['-p', '80'], { from: 'user' }).opts(),
  'crypto-js': () => CryptoJS.SHA256('a').toString().slice(0, 8),
  'csv-parse': () => parseCsv('a,b\n1,"x,y"', { columns: true }),
  'csv-stringify': () => stringifyCsv([[1, 'x,y']]),
  dayjs: () => dayjs('2026-01-31').add(1, 'month').format('YYYY-MM-DD'),
  debug: () => {
    debug.enable('app:*,-app:b')
    return [debug('app:a').enabled, debug('app:b').enabled]
  },
  'decimal.js': () => new Decimal(2).sqrt().toFixed(5),
  eventemitter3: () => new EventEmitter().on('a', () => undefined).emit('a'),
  'fast-xml-parser': () => new XMLParser().parse('<a><b>1</b></a>'),
  fflate: () => text(gunzipSync(gzipSync(bytes('hello')))),
  graphql: () =>
    graphql({ schema: buildSchema('type Query { a: Int }'), source: '{ a }', rootValue: { a: 1 } }),
  handlebars: () => Handlebars.compile('{{#each a}}<{{this}}>{{/each}}')({ a: [1, '&'] }),
  htmlparser2: () => parseDocument('<p>a</p>').children[0].name,
  'iconv-lite': () => iconv.decode(Buffer.from([0xe4]), 'win1252'),
  immer: () => produce({ a: 1 }, (draft) => void (draft.a = 2)),
  immutable: () => ImmutableMap({ a: 1 }).set('b', 2).toJS(),
  ini: () => ini.parse('[a]\nb=1'),
  joi: () => Joi.object({ a: Joi.number() }).validate({ a: 'x' }).error.message,
  jose: async () => {
    const key = bytes('a secret that has thirty-two bytes')
    const token = await new jose.SignJWT({ a: 1 }).setProtectedHeader({ alg: 'HS256' }).sign(key)
    return (await jose.jwtVerify(token, key)).payload
  },
  'js-yaml': () => yaml.load('a: [1, 2]'),
  jszip: async () => {
    const zipped = await new JSZip().file('a', 'hello').generateAsync({ type: 'uint8array' })
    return (await JSZip.loadAsync(zipped)).file('a').async('string')
  },
  lodash: () => _.groupBy([1, 2, 3], (n) => (n % 2 ? 'odd' : 'even')),
  'lru-cache': () => {
    const cache = new LRUCache({ max: 1 })
    return [cache.set('a', 1).set('b', 2).get('a') ?? null, cache.get('b')]
  },
  luxon: () => DateTime.fromISO('2026-03-29T12:00', { zone: 'Europe/Berlin' }).offset,
  'markdown-it': () => new MarkdownIt().render('**a**'),
  marked: () => marked.parse('# a'),
  mime: () => mime.getType('a.json'),
  'mime-types': () => mimeTypes.lookup('a.html'),
  minimist: () => minimist(['--a=1', 'b']),
  moment: () => moment.utc('2026-01-31').add(1, 'month').format('YYYY-MM-DD'),
  ms: () => ms('2h'),
  nanoid: () => nanoid().length,
  'node-forge': () => forge.md.sha1.create().update('a').digest().toHex().slice(0, 8),
  'p-limit': () => Promise.all([1, 2].map((n) => pLimit(1)(() => n))),
  'p-queue': () => new PQueue({ concurrency: 1 }).add(() => 'done'),
  pako: () => text(pako.inflate(pako.deflate(bytes('hello')))),
  qs: () => qs.parse('a[b]=1&a[c][]=2'),
  'query-string': () => queryString.parse('a=1&a=2'),
  semver: () => semver.satisfies('1.2.3', '^1.0.0'),
  'smol-toml': () => parseToml('[a]\nb = 1'),
  tweetnacl: () => {
    const { publicKey, secretKey } = nacl.sign.keyPair.fromSeed(new Uint8Array(32))
    return nacl.sign.detached.verify(bytes('a'), nacl.sign.detached(bytes('a'), secretKey), publicKey)
  },
  uuid: () => uuid('device.test', uuid.DNS),
  valibot: () => v.safeParse(v.object({ a: v.string() }), { a: 1 }).success,
  yaml: () => YAML.parse('a: &x [1]\nb: *x'),
  yup: () => yup.object({ a: yup.number().required() }).isValid({ a: '5' }),
  zod: () => z.object({ a: z.coerce.number() }).parse({ a: '5' }),
}

export default {
  async fetch(request) {
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1))
    return Response.json((await calls[name]()) ?? null)
  },
}
