/** The user of a socket: one that another user could have put there never counts as the own one. */
import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { findSocket, isOwn } from './own-socket.ts'

let folder: string
let state: string
let server: Server
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'own-')))
  state = join(folder, 'state')
  mkdirSync(state, { mode: 0o755 })
  server = createServer()
  await new Promise<void>((resolve) => server.listen(join(state, 'a.sock'), resolve))
})
afterEach(() => {
  vi.restoreAllMocks()
  server.close()
  rmSync(folder, { recursive: true })
})

const find = (path = state, named = true, name = 'a.sock') => findSocket(path, name, { named })

it('a socket of this user is found, and stays the one that was found', () => {
  const found = find() as { path: string; beside: (name: string) => string }
  expect(found).toMatchObject({ state: 'own', uid: process.getuid!() })
  expect(find(state, false)).toMatchObject({ state: 'own' })
  writeFileSync(join(state, 'key'), '')
  if (process.platform !== 'linux') return
  renameSync(state, join(folder, 'moved'))
  expect(realpathSync(found.path)).toBe(join(folder, 'moved/a.sock'))
  expect(realpathSync(found.beside('key'))).toBe(join(folder, 'moved/key'))
  renameSync(join(folder, 'moved'), state)
})

it.each([
  ['in a missing folder', () => find(join(folder, 'missing'))],
  ['of another name', () => find(state, true, 'b.sock')],
])('one %s is absent', (_, look) => expect(look()).toEqual({ state: 'absent' }))

it('a link to a folder is followed only if the user named it', () => {
  const link = join(folder, 'link')
  symlinkSync(state, link)
  expect(find(link)).toMatchObject({ state: 'own' })
  expect(find(link, false)).toEqual({ state: 'refused', reason: `${link} is a symbolic link, or no folder` })
})

it('a file in place of the folder is refused', () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  expect(find(file)).toMatchObject({ state: 'refused', reason: expect.stringContaining('ENOTDIR') })
  expect(find(file, false)).toMatchObject({ reason: `${file} is a symbolic link, or no folder` })
  const loop = join(folder, 'loop')
  symlinkSync(loop, loop)
  expect(find(loop)).toMatchObject({ state: 'refused', reason: expect.stringContaining('ELOOP') })
  expect(find(loop, false)).toMatchObject({ reason: `${loop} is a symbolic link, or no folder` })
  expect(find('x'.repeat(300), false)).toMatchObject({ reason: expect.stringContaining('ENAMETOOLONG') })
})

it.each([0o775, 0o757, 0o777])('a folder that others can write to is refused: %o', (mode) => {
  chmodSync(state, mode)
  expect(find()).toEqual({
    state: 'refused',
    reason: `other users can write to ${state} (mode ${mode.toString(8)}): chmod go-w ${state}`,
  })
  // Without a socket there is nothing to warn of.
  expect(find(state, true, 'b.sock')).toEqual({ state: 'absent' })
})

it('what is no socket is refused', () => {
  writeFileSync(join(state, 'b.sock'), '')
  symlinkSync('a.sock', join(state, 'c.sock'))
  const reasonOf = (name: string) => {
    const found = find(state, true, name)
    return found.state === 'refused' ? found.reason : found.state
  }
  expect(reasonOf('b.sock')).toBe(`${join(state, 'b.sock')} is no socket`)
  expect(reasonOf('c.sock')).toBe(`${join(state, 'c.sock')} is a symbolic link`)
  expect(reasonOf('a.sock/x')).toContain('ENOTDIR')
})

/** Makes a file that of another user: root gives it away, and another user becomes a third one. */
function makeForeign(path: string): void {
  const own = process.getuid!()
  if (own === 0) lchownSync(path, 12_345, 12_345)
  else vi.spyOn(process, 'getuid').mockReturnValue(own + 1)
}

it.each([
  ['socket', () => join(state, 'a.sock')],
  ['folder', () => state],
])('one of which the %s is of another user is foreign', (_, pathOf) => {
  makeForeign(pathOf())
  expect(find()).toMatchObject({ state: 'foreign', uid: lstatSync(pathOf()).uid })
})

it('root and this user are trusted, and no other', () => {
  vi.spyOn(process, 'getuid').mockReturnValue(5)
  expect([isOwn(0), isOwn(5), isOwn(6)]).toEqual([true, true, false])
})

describe('the folder of an installed service', { skip: process.getuid?.() !== 0 }, () => {
  const service = 12_345
  const findInstalled = (path = state) => findSocket(path, 'a.sock', { named: true, installed: [state] })
  beforeEach(() => {
    for (const path of [state, join(state, 'a.sock')]) lchownSync(path, service, service)
  })

  it('is trusted with its user, and so is one of root', () => {
    expect(findInstalled()).toMatchObject({ state: 'own', uid: service })
    expect(findInstalled(`${state}/../state`)).toMatchObject({ state: 'own' })
    lchownSync(join(state, 'a.sock'), 0, 0)
    expect(findInstalled()).toMatchObject({ state: 'own', uid: 0 })
  })

  it('is not trusted with a third user, or elsewhere', () => {
    expect(find()).toMatchObject({ state: 'foreign', uid: service })
    lchownSync(join(state, 'a.sock'), service + 1, 0)
    expect(findInstalled()).toMatchObject({ state: 'foreign', uid: service + 1 })
  })

  it.each([
    ['of another user', () => lchownSync(folder, service, service)],
    ['that others can write to', () => chmodSync(folder, 0o722)],
  ])('is not trusted below a folder %s', (_, change) => {
    change()
    expect(findInstalled()).toMatchObject({ state: 'foreign' })
  })

  it('is not trusted as a link to another folder', () => {
    renameSync(state, join(folder, 'other'))
    symlinkSync(join(folder, 'other'), state)
    expect(findInstalled()).toMatchObject({ state: 'foreign' })
    rmSync(state)
    renameSync(join(folder, 'other'), state)
  })
})
