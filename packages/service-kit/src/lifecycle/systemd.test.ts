/** Readiness reports to systemd. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { findSystemd } from './systemd.ts'

let folder: string
let command: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-notify-'))
  command = join(folder, 'notify')
  writeFileSync(
    command,
    `#!/bin/sh\necho "$1 to $NOTIFY_SOCKET, with HOME ${'$'}{HOME-unset}" >> ${folder}/sent\n`,
  )
  chmodSync(command, 0o755)
})
afterEach(() => rmSync(folder, { recursive: true }))

const fail = (cause: Error) => {
  throw cause
}

it('sends each message with one program, which gets nothing of the environment but the socket', async () => {
  const systemd = findSystemd({ NOTIFY_SOCKET: '/run/notify', HOME: '/root' }, fail, command)
  systemd.send('READY=1')
  await expect
    .poll(() => readFileSync(join(folder, 'sent'), { encoding: 'utf8', flag: 'a+' }))
    .toBe('READY=1 to /run/notify, with HOME unset\n')
})

it('hides the socket from the programs that the daemon starts', () => {
  const env = { NOTIFY_SOCKET: '/run/notify', PATH: '/bin' }
  findSystemd(env, fail, command)
  expect(env).toEqual({ PATH: '/bin' })
})

it('starts nothing without systemd', () => {
  const systemd = findSystemd({}, fail, '/does/not/exist')
  expect(() => systemd.send('READY=1')).not.toThrow()
})

it.each([
  ['is missing', '/does/not/exist', /ENOENT/],
  ['fails', '/bin/false', /exited with code 1/],
])('reports that systemd was not notified if its program %s', async (_, program, message) => {
  const failures: Error[] = []
  findSystemd({ NOTIFY_SOCKET: '/run/notify' }, (cause) => failures.push(cause), program).send('READY=1')
  await expect.poll(() => failures.map((each) => each.message)).toEqual([expect.stringMatching(message)])
})
