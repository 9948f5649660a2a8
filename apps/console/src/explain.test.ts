/** Every call of the console, and everything that may come in place of an answer. */
import { callRpc, type Fetch, RpcFailure } from '@selvedge/client'
import { catalogue, messages, type Reason } from '@selvedge/protocol'
import { consoleMethods } from '@selvedge/protocol/console'
import { describe, expect, it } from 'vitest'
import { explain } from './explain.ts'
import { Explained, isOutage } from './failures.ts'

const url = 'https://console.example'
const html = '<!doctype html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'
const answer = (status: number, body: string, type = 'text/html') =>
  (async () => new Response(body, { status, headers: { 'content-type': type } })) as unknown as Fetch
const json = (status: number, body: unknown) => answer(status, JSON.stringify(body), 'application/json')
const rejecting =
  (cause: Error): Fetch =>
  () =>
    Promise.reject(cause)
/** Answers when the caller has given up. */
const silent: Fetch = (_, { signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

/** What comes in place of an answer, by name; each counts as an outage. */
const outages: Readonly<Record<string, Fetch>> = {
  '502 with a page': answer(502, html),
  '503 with a page': answer(503, html),
  '504 with a page': answer(504, html),
  '502 without a body': answer(502, ''),
  '503 with the JSON of a proxy': json(503, { error: { code: 'no healthy upstream', url } }),
  '429 of a proxy': json(429, { message: 'rate limited by rpc.discover' }),
  '200 with a page': answer(200, html),
  '200 without a body': answer(200, ''),
  '200 with other JSON': json(200, { hello: `${url}/console/api` }),
  '200 with half of an answer': answer(200, '{"jsonrpc":"2.0","id":1,"resu', 'application/json'),
  'an error without texts': json(200, { jsonrpc: '2.0', id: 1, error: { code: -32_603, message: 'x' } }),
  'no network': rejecting(new TypeError('Failed to fetch')),
  'a connection that breaks': rejecting(new TypeError(`NetworkError when attempting to fetch ${url}.`)),
  'no answer in time': silent,
}

/** Words that no person should have to read. */
const foreign =
  /rpc\.discover|https?:|console\.example|HTTP|JSON|nginx|upstream|fetch|parameter|undefined|null|[<>{}\n]/
const methodNames = Object.keys(consoleMethods)

function expectOwnWords(text: string, method: string): void {
  expect(text).not.toMatch(foreign)
  expect(text).not.toContain(method)
  expect(text.length).toBeLessThan(500)
  expect(text).toMatch(/^[\p{Lu}“].*[.?]$/u)
}

const failureOf = (method: string, fetch: Fetch): Promise<unknown> =>
  callRpc({ url, path: '/console/api', fetch, timeoutMs: 20 }, method, {}).then(
    () => expect.unreachable(),
    (cause: unknown) => cause,
  )

describe.each(Object.entries(outages))('%s', (_, fetch) => {
  it('is an outage in own words, whatever was called', async () => {
    const causes = await Promise.all(
      methodNames.map(async (name) => [name, await failureOf(name, fetch)] as const),
    )
    for (const [name, cause] of causes) {
      expectOwnWords(explain(cause), name)
      expect(isOutage(cause)).toBe(true)
    }
  })
})

it.each([
  [413, /too much/],
  [403, /refused/],
  [404, /refused/],
])('HTTP %i of a proxy is a refusal of this request, and no outage', async (status, text) => {
  for (const fetch of [answer(status, html), json(status, { error: 'x' }), answer(status, '')]) {
    const cause = await failureOf('project.create', fetch)
    expect(explain(cause)).toMatch(text)
    expectOwnWords(explain(cause), 'project.create')
    expect(isOutage(cause)).toBe(false)
  }
})

const refusal = (reason: string, detail: string, hint: string) => {
  const { code, retryable } = catalogue[reason as Reason] ?? { code: -32_000, retryable: false }
  const message = messages[code as keyof typeof messages] ?? 'x'
  return new RpcFailure({ code, message, data: { reason: reason as Reason, detail, hint, retryable } })
}

describe.each(methodNames)('a refusal of %s', (name) => {
  const { reasons, params } = consoleMethods[name as keyof typeof consoleMethods]

  it('is in own words, for each reason that it declares', () => {
    for (const reason of [...reasons, 'invalid_params', 'internal_error', 'storage_failed', 'busy']) {
      const { hint } = catalogue[reason as Reason]
      const detail = `${name}: something of ${url} failed`
      expectOwnWords(explain(refusal(reason, detail, hint)), name)
    }
  })

  it('names what was typed and what is expected in place of a parameter', () => {
    for (const { name: param, expected } of params) {
      for (const found of ['missing', '"x"', 'a string of 999 characters']) {
        const detail = `${name}: parameter "${param}" is ${found}; expected ${expected}`
        expectOwnWords(explain(refusal('invalid_params', detail, catalogue.invalid_params.hint)), name)
      }
    }
  })
})

it('shows the words of the service for people, with its advice', () => {
  const text = explain(refusal('credentials_invalid', 'wrong e-mail address or password', 'Try again.'))
  expect(text).toBe('Wrong e-mail address or password. Try again.')
  const detail = 'group.create: parameter "name" is ""; expected a text of 1 to 60 characters'
  expect(explain(refusal('invalid_params', detail, 'Call rpc.discover.'))).toBe(
    'Name: enter a text of 1 to 60 characters.',
  )
})

it.each([
  'it is not an origin as browsers send it, such as https://app.example',
  'it is not in its normal form: write "https://vans.example/in"',
])('explains why an address that a person typed is refused: %s', (why) => {
  const detail = `the redirect URI "https://vans.example:443/in" cannot be used: ${why}`
  expect(explain(refusal('invalid_params', detail, 'Call rpc.discover.'))).toBe(
    `The redirect URI "https://vans.example:443/in" cannot be used: ${why}.`,
  )
})

it.each(['constructor', '__proto__', 'toString', 'new_reason'])(
  'reads %s as a reason that it does not know',
  (reason) => {
    expectOwnWords(explain(refusal(reason, '<b>\u202e', 'https://evil.example')), 'x')
  },
)

it.each([
  new TypeError('x is not a function'),
  new DOMException('quota', 'QuotaExceededError'),
  'text',
  undefined,
])('hides the words of the browser: %s', (cause) => {
  expectOwnWords(explain(cause), 'x')
  expect(isOutage(cause)).toBe(false)
})

it('shows its own words, also where they are why a request was not sent', async () => {
  const own = new Explained('This page needs HTTPS.')
  expect(explain(own)).toBe('This page needs HTTPS.')
  const cause = await failureOf('session.get', rejecting(own))
  expect(explain(cause)).toBe('This page needs HTTPS.')
  expect(isOutage(cause)).toBe(false)
})
