/** Packages of the registry, each with one call in a function, and what it gives. `docs/field.md` has the same table. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../harness/processes.ts'

export interface PackageCall {
  readonly name: string
  /** What the call does, for the table. */
  readonly shows: string
  readonly gives: unknown
}

const row = (name: string, shows: string, gives: unknown): PackageCall => ({ name, shows, gives })
const closed = 'connects to a host that MCM.OUTBOUND does not list, and is refused'

/** In `functions/many`. */
export const plainPackages: readonly PackageCall[] = [
  row('@msgpack/msgpack', 'encodes and decodes', { a: [1, 'b', null] }),
  row('ajv', 'validates with a JSON schema', false),
  row('async', 'maps with a limit', [2, 4, 6]),
  row('bcryptjs', 'compares a password', true),
  row('big.js', 'adds decimals', '0.3'),
  row('bignumber.js', 'adds to 10³⁰', '1000000000000000000000000000001'),
  row('chalk', 'colours a text', '\u001b[31mx\u001b[39m'),
  row('cheerio', 'finds in HTML', 'b'),
  row('commander', 'parses options', { p: '80' }),
  row('crypto-js', 'hashes with SHA-256', 'ca978112'),
  row('csv-parse', 'parses CSV', [{ a: '1', b: 'x,y' }]),
  row('csv-stringify', 'writes CSV', '1,"x,y"\n'),
  row('dayjs', 'adds a month', '2026-02-28'),
  row('debug', 'enables names', [true, false]),
  row('decimal.js', 'computes a root', '1.41421'),
  row('eventemitter3', 'emits', true),
  row('fast-xml-parser', 'parses XML', { a: { b: 1 } }),
  row('fflate', 'packs and unpacks', 'hello'),
  row('graphql', 'answers a query', { data: { a: 1 } }),
  row('handlebars', 'renders a template', '<1><&amp;>'),
  row('htmlparser2', 'parses HTML', 'p'),
  row('iconv-lite', 'decodes Windows-1252', 'ä'),
  row('immer', 'produces a changed copy', { a: 2 }),
  row('immutable', 'sets in a map', { a: 1, b: 2 }),
  row('ini', 'parses INI', { a: { b: '1' } }),
  row('joi', 'validates', '"a" must be a number'),
  row('jose', 'signs and verifies a token', { a: 1 }),
  row('js-yaml', 'parses YAML', { a: [1, 2] }),
  row('jszip', 'packs and unpacks a ZIP file', 'hello'),
  row('lodash', 'groups', { odd: [1, 3], even: [2] }),
  row('lru-cache', 'drops the oldest', [null, 2]),
  row('luxon', 'knows a time zone', 120),
  row('markdown-it', 'renders Markdown', '<p><strong>a</strong></p>\n'),
  row('marked', 'renders Markdown', '<h1>a</h1>\n'),
  row('mime', 'knows a type', 'application/json'),
  row('mime-types', 'knows a type', 'text/html'),
  row('minimist', 'parses options', { _: ['b'], a: 1 }),
  row('moment', 'adds a month', '2026-02-28'),
  row('ms', 'parses a duration', 7_200_000),
  row('nanoid', 'makes an ID', 21),
  row('node-forge', 'hashes with SHA-1', '86f7e437'),
  row('p-limit', 'runs with a limit', [1, 2]),
  row('p-queue', 'runs in order', 'done'),
  row('pako', 'packs and unpacks', 'hello'),
  row('qs', 'parses a nested query', { a: { b: '1', c: ['2'] } }),
  row('query-string', 'parses a query', { a: ['1', '2'] }),
  row('semver', 'compares versions', true),
  row('smol-toml', 'parses TOML', { a: { b: 1 } }),
  row('tweetnacl', 'signs and verifies', true),
  row('uuid', 'makes a UUID of a name', 'a02c6b62-e9df-59ab-b034-0ffe1e770fa8'),
  row('valibot', 'validates', false),
  row('yaml', 'parses YAML with an anchor', { a: [1], b: [1] }),
  row('yup', 'validates', true),
  row('zod', 'converts and validates', { a: 5 }),
]

/** In `functions/many-node`. */
export const nodePackages: readonly PackageCall[] = [
  // RabbitMQ is a program of `npm run field`; the call of every run is the refusal.
  row('amqplib', 'publishes to and consumes from RabbitMQ', 'refused'),
  row('busboy', 'reads a form', ['a', '1']),
  row('dotenv', 'reads a file', { A: '1', B: 'x y' }),
  row('ejs', 'renders a file', 'part 1'),
  row('formidable', 'reads a form', { a: ['1'] }),
  row('jsonwebtoken', 'signs and verifies a token', { a: 1 }),
  row('mongodb', closed, 'refused'),
  row('nodemailer', 'writes a message', 'x'),
  row('nunjucks', 'renders a template', '<1><&amp;>'),
  row('pino', 'logs to a file', { level: 30, a: 1, msg: 'hello' }),
  row('tar-stream', 'packs and unpacks', ['a']),
  row('winston', 'logs to a file', 'hello'),
  row('xml2js', 'parses XML', { a: { b: ['1'] } }),
  row('yargs', 'parses options', 1),
]

/** What other tests show, by the tests of this folder. */
const elsewhere: readonly (readonly [name: string, shows: string])[] = [
  ['@grpc/grpc-js', 'calls a server of the same package: unary, a stream, a status with trailers'],
  ['@hapi/hapi', 'listens, and through `toWorker`'],
  ['axios', 'sends JSON to a server, and follows a redirect'],
  ['elysia', 'answers requests'],
  ['express', 'listens, and through `toWorker`; version 4 too'],
  ['fastify', 'listens, and through `toWorker`'],
  ['got', 'sends JSON to a server, and follows a redirect'],
  ['h3', 'answers requests'],
  ['hono', 'answers requests'],
  ['ioredis', 'writes to, reads from and subscribes to a Redis server'],
  ['itty-router', 'answers requests'],
  ['jsmodbus', 'reads registers of a Modbus server'],
  ['kafkajs', 'sends messages to a broker of Kafka, and reads them in a group'],
  ['koa', 'listens, and through `toWorker`'],
  ['modbus-serial', 'reads and writes registers of a Modbus server'],
  ['mqtt', 'publishes to and subscribes to mosquitto'],
  ['ky', 'sends JSON to a server, and follows a redirect'],
  ['mysql2', 'queries MariaDB, with prepared statements and a pool'],
  ['nats', 'subscribes to and sends requests through a NATS server'],
  ['node-fetch', 'sends JSON to a server, and follows a redirect'],
  ['node-opcua-client', 'browses, reads, writes, calls, subscribes; also encrypted'],
  ['pg', 'queries PostgreSQL'],
  ['redis', 'writes to and reads from a Redis server'],
  ['superagent', 'sends JSON to a server, and follows a redirect'],
  ['undici', 'sends JSON to a server, and follows a redirect'],
  ['ws', 'echoes through a WebSocket server'],
]

/** The rows of `docs/field.md`. */
export function packageRows(): readonly string[] {
  const path = join(root, 'tests/system/services/npm-packages/package.json')
  const { dependencies } = JSON.parse(readFileSync(path, 'utf8')) as { dependencies: Record<string, string> }
  const all = [...plainPackages, ...nodePackages].map(({ name, shows }) => [name, shows] as const)
  return [...all, ...elsewhere]
    .toSorted(([a], [b]) => (a.replace('@', '') < b.replace('@', '') ? -1 : 1))
    .map(
      ([name, shows]) =>
        `| ${name} | ${dependencies[name]} | ${shows.replace('MCM.OUTBOUND', '`MCM.OUTBOUND`')} |`,
    )
}
