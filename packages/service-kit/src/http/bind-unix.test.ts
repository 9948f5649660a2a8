/** A socket has its permissions from the first moment. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { bindUnix } from './bind-unix.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bind-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

// A thread of a test runner has no umask of its own.
const isMain = (() => {
  try {
    process.umask(process.umask())
    return true
  } catch {
    return false
  }
})()

it.skipIf(!isMain).each([0o600, 0o660])('mode %o', async (mode) => {
  const before = process.umask()
  const server = createServer()
  const path = join(folder, 'a.sock')
  await bindUnix(server, path, mode)
  expect(statSync(path).mode & 0o777).toBe(mode)
  expect(process.umask()).toBe(before)
  expect(server.listenerCount('error')).toBe(0)
  await new Promise((resolve) => server.close(resolve))
})

it.skipIf(!isMain)('fails where something else is, and leaves the umask as it was', async () => {
  const path = join(folder, 'file')
  writeFileSync(path, '')
  const before = process.umask()
  await expect(bindUnix(createServer(), path, 0o600)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  expect(process.umask()).toBe(before)
})
