/** What a request of a caller without any credential may cost, in CPU time of the daemon that gets it. */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { rpcPath } from '@selvedge/protocol'
import { edgeAudience } from '@selvedge/protocol/tokens'
import { createJwsSigner } from '@selvedge/service-kit/tokens'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cpuOf, leastOf, ownCpu } from '../../harness/cpu.ts'
import { type Program, type Stack, startStack } from '../../harness/processes.ts'

const small = 64 * 1024
const large = 256 * 1024

let stack: Stack
let kid = ''
beforeAll(async () => {
  stack = await startStack()
  const { keys } = (await (await fetch(`${stack.identity.url}/jwks`)).json()) as { keys: { kid: string }[] }
  kid = keys[0]!.kid
})
afterAll(() => stack?.stop())

interface Answer {
  readonly status: number
  readonly text: string
}

function post(url: string, body: string, type = 'application/json'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }
    httpRequest(url, { method: 'POST', headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
      .on('error', reject)
      .end(body)
  })
}

/** Milliseconds of CPU that a program uses from before a request until its answer is there. */
async function costOf({ process: { pid } }: Program, ask: () => Promise<unknown>): Promise<number> {
  const before = cpuOf(pid!)
  await ask()
  return cpuOf(pid!) - before
}

const parseCost = (body: string) => ownCpu(() => tryParse(Buffer.from(body).toString()))

/** 160 KB that the platform's own parser reads in some two milliseconds. */
const reference = JSON.stringify(Array(80_000).fill(1))

/**
 * A request costs at most so many times what the platform's parser needs for the reference or, if that is more, for its body. The
 * most expensive ones cost five times as much; quadratic work costs a hundred times as much.
 */
const most = 12

/** Expects that a request costs a program no more than a multiple of what the platform's parser needs for the reference and a body. */
async function expectCheap(program: Program, body: string, ask: () => Promise<unknown>): Promise<void> {
  for (let warm = 0; warm < 5; warm++) await ask()
  const multiple = ([cost = 0, ...parsing]: readonly number[]) => cost / Math.max(...parsing)
  const measures = [() => costOf(program, ask), () => parseCost(reference), () => parseCost(body)]
  const least = await leastOf(measures, (each) => multiple(each) < most)
  expect(multiple(least), `milliseconds of the request, the reference and the body: ${least}`).toBeLessThan(
    most,
  )
}

function tryParse(text: string): void {
  try {
    JSON.parse(text)
  } catch {
    // It costs what it costs until there.
  }
}

const list = (unit: string, size: number): string =>
  `[${Array(Math.floor((size - 2) / (unit.length + 1)))
    .fill(unit)
    .join(',')}]`

function members(member: (at: number) => string, size: number): string {
  const parts: string[] = []
  for (let length = 2; ; ) {
    const part = member(parts.length)
    length += part.length + 1
    if (length > size) return `{${parts.join(',')}}`
    parts.push(part)
  }
}

const shapes: Record<string, (size: number) => string> = {
  'one long string': (size) => `"${'a'.repeat(size - 2)}"`,
  'a string of escapes': (size) => `"${'\\"'.repeat(size / 2 - 1)}"`,
  'a string of backslashes': (size) => `"${'\\\\'.repeat(size / 2 - 1)}"`,
  'white space': (size) => `${' '.repeat(size - 1)}1`,
  'deep nesting': (size) => '['.repeat(size / 2) + ']'.repeat(size / 2),
  'nesting to the limit, again and again': (size) => list('['.repeat(30) + ']'.repeat(30), size),
  'empty objects': (size) => list('{}', size),
  'empty strings': (size) => list('""', size),
  'objects of one shape': (size) => list('{"a":1,"b":2,"c":3}', size),
  'many members': (size) => members((at) => `"k${at}":0`, size),
  'members whose names are numbers': (size) => members((at) => `"${(at * 102_947) % 4_294_967_291}":0`, size),
  'one member again and again': (size) => members(() => '"a":0', size),
  '__proto__ again and again': (size) => members(() => '"__proto__":{}', size),
  'numbers of 60,000 digits': (size) => list('1'.repeat(60_000), size),
  'a number that is too large': () => `[1e${'9'.repeat(60_000)}]`,
  'colons alone': (size) => ':'.repeat(size),
  'quotes alone': (size) => '"a'.repeat(size / 2),
}

describe('the runtime, asked without any credential', () => {
  const ask = (body: string) => () => post(stack.runtime.url + rpcPath, body)

  it.each(Object.keys(shapes))('parses %s at a small multiple of what the platform needs', async (name) => {
    for (const size of [small, large]) {
      const body = shapes[name]!(size)
      await expectCheap(stack.runtime, body, ask(body))
    }
  })

  it('does not parse what no method accepts', async () => {
    const body = shapes['many members']!(1024 * 1024)
    const { text } = await ask(body)()
    expect(JSON.parse(text).error.data).toMatchObject({ reason: 'limit_exceeded' })
    await expectCheap(stack.runtime, '', ask(body))
  })

  const batchOf = (calls: readonly object[]) =>
    JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })))
  const hundred = (call: (at: number) => object) => batchOf(Array.from({ length: 100 }, (_, at) => call(at)))
  const sign = createJwsSigner(
    { typ: 'at+jwt', kid: 'x' },
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  )
  const forged = () => {
    const now = Math.floor(Date.now() / 1000)
    const [, payload, signature] = sign({
      iss: stack.identity.url,
      aud: edgeAudience,
      iat: now,
      exp: now + 600,
      jti: randomUUID(),
    }).split('.')
    const header = Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid })).toString('base64url')
    return `${header}.${payload}.${signature}`
  }

  it.each<[string, (at: number) => object]>([
    ['the whole description of the API', () => ({ method: 'rpc.discover' })],
    ['itself', () => ({ method: 'getMe' })],
    ['its engines', () => ({ method: 'getEngines' })],
    ['methods that do not exist', (at) => ({ method: `${at}${'x'.repeat(550)}` })],
    ['with parameters that are unknown', (at) => ({ method: 'getMe', params: { ['p'.repeat(550)]: at } })],
    ['with ids of 550 characters', (at) => ({ id: `${at}${'"'.repeat(275)}`, method: 'x' })],
    ['with invalid calls', () => ({ jsonrpc: '1.0', method: 'getMe', params: 'x'.repeat(500) })],
    ['with tokens that are not tokens', (at) => ({ method: 'getGps', params: [`${at}${'.a'.repeat(200)}`] })],
    ['with tokens whose signatures are forged', () => ({ method: 'getGps', params: [forged()] })],
    [
      'for HMAC codes of other nodes',
      (at) => ({
        method: 'verifyEdgeHmacCode',
        params: [
          `v1.${'ab'.repeat(28)}.9999999999.${'A'.repeat(22)}.${'A'.repeat(22)}.${'A'.repeat(43)}`,
          'ab'.repeat(28),
          `u${at}`,
        ],
      }),
    ],
  ])('answers a batch of a hundred calls: %s', async (_, call) => {
    const bodies = Array.from({ length: 20 }, () => hundred(call))
    let next = 0
    let longest = 0
    const askNext = async () => {
      const { text } = await ask(bodies[next++ % 20]!)()
      longest = Math.max(longest, text.length)
    }
    await expectCheap(stack.runtime, bodies[0]!, askNext)
    expect(longest).toBeLessThan(1_000_000)
  })

  it('says which answers of a batch are left out, and that their calls ran', async () => {
    const answers = JSON.parse((await ask(hundred(() => ({ method: 'rpc.discover' })))()).text)
    expect(answers).toHaveLength(100)
    expect(answers[0].result.openrpc).toBeDefined()
    expect(answers[99]).toMatchObject({ id: 99, error: { data: { reason: 'limit_exceeded' } } })
    expect(answers[99].error.data.detail).toMatch(/the call ran/)
  })

  it('gives one reason to a token that a batch repeats, however often', async () => {
    const token = forged()
    const answers = JSON.parse((await ask(hundred(() => ({ method: 'getGps', params: [token] })))()).text)
    const reasons = new Set(
      answers.map((each: { error: { data: { reason: string } } }) => each.error.data.reason),
    )
    expect([...reasons]).toEqual(['token_untrusted'])
  })
})

describe('the services, asked without any credential', () => {
  const form = 'application/x-www-form-urlencoded'
  it.each<[string, 'identity' | 'discovery', string, string, (size: number) => string]>([
    ['fields without end', 'identity', '/token', form, (size) => 'a&'.repeat(size / 2)],
    ['a field again and again', 'identity', '/token', form, (size) => 'scope=a&'.repeat(size / 8)],
    ['percent signs', 'identity', '/token', form, (size) => `scope=${'%41'.repeat(size / 3 - 3)}`],
    ['broken percent signs', 'identity', '/token', form, (size) => `scope=${'%'.repeat(size - 8)}`],
    ['pluses', 'identity', '/revoke', form, (size) => `token=${'+'.repeat(size - 8)}`],
    ['fields without end', 'identity', '/device_authorization', form, (size) => 'a&'.repeat(size / 2)],
    [
      'a long scope',
      'identity',
      '/token',
      form,
      (size) => `grant_type=refresh_token&refresh_token=x&client_id=x&scope=${'a+'.repeat(size / 2 - 50)}`,
    ],
    [
      'many members',
      'identity',
      '/edge/hmac/verify',
      'application/json',
      (size) => members((at) => `"k${at}":0`, size),
    ],
    [
      'many members',
      'identity',
      '/console/api',
      'application/json',
      (size) => members((at) => `"k${at}":0`, size),
    ],
    [
      'many members',
      'discovery',
      '/v1/fixes',
      'application/json',
      (size) => members((at) => `"k${at}":0`, size),
    ],
    [
      'many members',
      'discovery',
      '/v1/sessions',
      'application/json',
      (size) => members((at) => `"k${at}":0`, size),
    ],
  ])(
    'cost a small multiple of what the platform needs to parse for %s, %s%s',
    async (_, service, path, type, make) => {
      const body = make(small - 100)
      const program = stack[service]
      await expectCheap(program, '', () => post(program.url + path, body, type))
    },
  )
})
