/** What a release confirms, and when it exits so that the one before it starts. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { confirmationFolder, confirmRelease, isReplaced } from './confirm-release.ts'

let folder: string
let server: Server | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-confirm-'))
  mkdirSync(join(folder, 'state'))
  logged = []
  calls = []
})
afterEach(async () => {
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
  server = undefined
  rmSync(folder, { recursive: true })
})

let logged: unknown[]
/** Requests to the API. */
let calls: unknown[]
const log = {
  info: (text: string, more: object) => logged.push([text, more]),
  error: (text: string, more: object) => logged.push([text, more]),
} as never

async function answer(body: string): Promise<void> {
  server = createServer(async (request, response) => {
    const { method, url, headers } = request
    calls.push([method, url, headers['content-type'], JSON.parse(await text(request))])
    response.end(body)
  })
  await new Promise<void>((resolve) => server!.listen(join(folder, 'state/runtime.sock'), resolve))
}

/** @returns the confirmation, and the codes with which it exited */
async function confirm(
  engines: readonly string[][],
  program = `${folder}/releases/1.1.0/runtime/dist/main.cjs`,
) {
  const codes: number[] = []
  const pauses: number[] = []
  let asked = 0
  const checks = {
    folder: join(folder, 'state'),
    socket: join(folder, 'state/runtime.sock'),
    log,
    unavailableEngines: async () => engines[Math.min(asked++, engines.length - 1)]!,
    program,
    exit: (code: number) => void codes.push(code),
    pause: async (ms: number) => void pauses.push(ms),
  }
  await confirmRelease(checks, { tries: 3, pauseMs: 7 })
  expect(pauses).toEqual(Array(Math.max(0, asked - 1)).fill(7))
  expect(asked).toBeLessThanOrEqual(3)
  return { confirmed: readConfirmation(), codes }
}
function readConfirmation(): string | undefined {
  try {
    return readFileSync(join(folder, 'state/confirmed-release'), 'utf8')
  } catch {
    return undefined
  }
}
const onTrial = (): void => symlinkSync('releases/1.1.0', join(folder, 'trial'))

it('confirms a release that answers, also with a refusal', async () => {
  await answer('{"jsonrpc": "2.0", "id": 1, "error": {"code": -32001}}')
  expect(await confirm([[]])).toEqual({ confirmed: '1.1.0', codes: [] })
  const getMe = { jsonrpc: '2.0', id: 1, method: 'getMe', params: [''] }
  expect(calls).toEqual([['POST', '/jsonrpc/v1', 'application/json', getMe]])
  expect(logged).toEqual([[expect.stringContaining('has confirmed itself'), { version: '1.1.0' }]])
})

it('checks nothing when it is confirmed already', async () => {
  onTrial()
  writeFileSync(join(folder, 'state/confirmed-release'), '1.1.0')
  expect(await confirm([['no engine']])).toEqual({ confirmed: '1.1.0', codes: [] })
  expect(logged).toEqual([])
})

it('logs the last reason why it could not confirm itself', async () => {
  await confirm([['no engine', 'no other']])
  await confirm([[]])
  expect(logged).toMatchObject([
    [
      expect.stringContaining('could not confirm itself'),
      { version: '1.1.0', problem: 'no engine; no other' },
    ],
    [expect.anything(), { problem: expect.stringContaining('ENOENT') }],
  ])
  await answer('null')
  await confirm([[]])
  expect(logged[2]).toMatchObject([expect.anything(), { problem: 'getMe did not answer' }])
})

it('replaces the confirmation of another release', async () => {
  writeFileSync(join(folder, 'state/confirmed-release'), '1.0.0')
  await answer('{"jsonrpc": "2.0", "id": 1, "result": {}}')
  expect(await confirm([[]])).toEqual({ confirmed: '1.1.0', codes: [] })
})

it('waits for engines that need a moment', async () => {
  await answer('{"jsonrpc": "2.0"}')
  expect(await confirm([['no engine'], ['no engine'], []])).toEqual({ confirmed: '1.1.0', codes: [] })
})

it.each([
  ['an engine does not work', '{"jsonrpc": "2.0"}', ['no engine']],
  ['the API answers something else', 'null', []],
  ['the API answers no JSON', '<html>', []],
  ['the API does not answer', undefined, []],
])('exits on trial if %s', async (_, body, engines) => {
  onTrial()
  if (body !== undefined) await answer(body)
  expect(await confirm([engines])).toEqual({ confirmed: undefined, codes: [1] })
})

it('stays without a trial: there is nothing to return to', async () => {
  expect(await confirm([['no engine']])).toEqual({ confirmed: undefined, codes: [] })
  symlinkSync('releases/1.0.0', join(folder, 'trial'))
  expect(await confirm([['no engine']])).toEqual({ confirmed: undefined, codes: [] })
})

it('does nothing outside of an installation of releases', async () => {
  onTrial()
  expect(await confirm([['no engine']], '/usr/lib/selvedge/runtime/dist/main.cjs')).toEqual({
    confirmed: undefined,
    codes: [],
  })
})

it.each([
  [{ STATE_DIRECTORY: '/a:/b', SELVEDGE_STATE: '/c' }, '/a'],
  [{ SELVEDGE_STATE: '/c' }, '/c'],
  [{ STATE_DIRECTORY: '', SELVEDGE_STATE: '' }, '/settings'],
])('the launcher with %j expects the confirmation in %s', (env, expected) => {
  expect(confirmationFolder(env, '/settings')).toBe(expected)
})

it.each([
  ['the link leads to another release', () => symlinkSync('releases/1.2.0', join(folder, 'current')), true],
  ['the link leads to this one', () => symlinkSync('releases/1.1.0', join(folder, 'current')), false],
  ['there is no link', () => undefined, false],
  ['something else is there', () => mkdirSync(join(folder, 'current')), false],
])('a release is replaced where %s: %s', (_, arrange, expected) => {
  arrange()
  expect(isReplaced(`${folder}/releases/1.1.0/runtime/dist/main.cjs`)).toBe(expected)
  expect(isReplaced(`${folder}/runtime/dist/main.cjs`)).toBe(false)
})
