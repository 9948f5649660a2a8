/** A socket has its permissions from the first moment. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { bindUnix } from './bind-unix.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bind-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** What a socket has when it is bound; a thread of a test runner sets no umask. */
const modeOf = (path: string, maskAtBind: number) =>
  isMainThread ? statSync(path).mode & 0o777 : 0o777 & ~maskAtBind

it.each([0o600, 0o660])('mode %o', async (mode) => {
  const before = process.umask()
  const server = createServer()
  const path = join(folder, 'a.sock')
  let maskAtBind = 0
  const listen = vi.spyOn(server, 'listen')
  listen.mockImplementation((...given: unknown[]) => {
    maskAtBind = process.umask()
    listen.mockRestore()
    return server.listen(...(given as [string]))
  })
  await bindUnix(server, path, mode)
  expect(modeOf(path, maskAtBind)).toBe(mode)
  expect(process.umask()).toBe(before)
  expect(server.listenerCount('error')).toBe(0)
  await new Promise((resolve) => server.close(resolve))
})

it('fails where something else is, and leaves the umask as it was', async () => {
  const path = join(folder, 'file')
  writeFileSync(path, '')
  const before = process.umask()
  await expect(bindUnix(createServer(), path, 0o600)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  expect(process.umask()).toBe(before)
})
