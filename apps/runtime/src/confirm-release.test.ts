/** What a release confirms, and when it exits so that the one before it starts. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { confirmRelease } from './confirm-release.ts'

let folder: string
let server: Server | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-confirm-'))
  mkdirSync(join(folder, 'state'))
})
afterEach(async () => {
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
  server = undefined
  rmSync(folder, { recursive: true })
})

const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log } as never

async function answer(body: string): Promise<void> {
  server = createServer((_, response) => response.end(body))
  await new Promise<void>((resolve) => server!.listen(join(folder, 'state/runtime.sock'), resolve))
}

/** @returns the confirmation, and the codes with which it exited */
async function confirm(
  engines: readonly string[][],
  program = `${folder}/releases/1.1.0/runtime/dist/main.cjs`,
) {
  const codes: number[] = []
  let asked = 0
  const checks = {
    folder: join(folder, 'state'),
    socket: join(folder, 'state/runtime.sock'),
    log,
    unavailableEngines: async () => engines[Math.min(asked++, engines.length - 1)]!,
    program,
    exit: (code: number) => void codes.push(code),
  }
  await confirmRelease(checks, { tries: 3, pauseMs: 1 })
  return { confirmed: readConfirmation(), codes }
}
function readConfirmation(): string | undefined {
  try {
    return readFileSync(join(folder, 'state/confirmed-release'), 'utf8')
  } catch {
    return undefined
  }
}
const onTrial = () => symlinkSync('releases/1.1.0', join(folder, 'trial'))

it('confirms a release that answers, also with a refusal', async () => {
  await answer('{"jsonrpc": "2.0", "id": 1, "error": {"code": -32001}}')
  expect(await confirm([[]])).toEqual({ confirmed: '1.1.0', codes: [] })
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
