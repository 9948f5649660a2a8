/** Whatever a page sends to the real service: what a person sees of the refusal is in the console's own words. */
import { callRpc, isSelvedgeError } from '@selvedge/client'
import { identityPaths } from '@selvedge/protocol'
import { type ConsoleMethodName, consoleMethods } from '@selvedge/protocol/console'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { explain } from '../../apps/console/src/explain.ts'
import { isOutage } from '../../apps/console/src/failures.ts'
import { type ConsoleSession, startWithOwner } from '../harness/console.ts'

let owner: ConsoleSession
let url: string
let stop: () => Promise<void>
beforeAll(async () => {
  const started = await startWithOwner()
  owner = started.owner
  stop = started.stop
  url = started.identity.url
})
afterAll(() => stop?.())

/** Values that no page sends on purpose. */
const values: readonly unknown[] = [
  ...['', 'x', 'x'.repeat(100_000), '\u0000\u202e<script>', '%00', '../..', 'https://evil.example', '"'],
  ...[null, -1, 1e308, true, [], [[]], {}, { a: 1 }, ['x'.repeat(999)], 'ff'.repeat(28)],
]
/** They end the session, or lead away. */
const ends: readonly string[] = ['session.end', 'session.switch', 'logout.finish', 'account.revoke_all']
const foreign = /rpc\.discover|https?:\/\/|parameter|JSON|undefined|[<>{}\n\p{C}]/u

it.each(Object.keys(consoleMethods).filter((name) => !ends.includes(name)))('%s', async (name) => {
  const { params } = consoleMethods[name as ConsoleMethodName]
  const fetch = async (_: string, { method, headers, body }: RequestInit) => {
    const signed = await owner.signed(method!, identityPaths.consoleApi, body as string)
    return globalThis.fetch(url + identityPaths.consoleApi, {
      ...{ method: method!, body: body as string, redirect: 'error' as const },
      headers: { ...(headers as Record<string, string>), ...signed },
    })
  }
  const connection = { url, path: identityPaths.consoleApi, fetch: fetch as never }
  for (const value of values) {
    const given = Object.fromEntries(params.map((each) => [each.name, value]))
    const cause = await callRpc(connection, name, given).catch((failure: unknown) => failure)
    if (!isSelvedgeError(cause)) continue
    expect(isOutage(cause)).toBe(false)
    const text = explain(cause)
    expect(text).not.toMatch(foreign)
    expect(text).not.toContain(name)
    expect(text).toMatch(/^[\p{Lu}“].*[.?]$/u)
  }
})
