/** Leases of this user: each is for one identity service, project and node. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLeases, type StoredLease } from './leases.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'leases-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const lease = (more: Partial<StoredLease> = {}): StoredLease => ({
  ...{ identityUrl: 'https://id.example', clientId: 'c', nodeId: 'n' },
  ...{ lease: 'l', issuedAt: 1, expiresAt: 2, key: { kty: 'EC' } as StoredLease['key'] },
  ...more,
})
const files = () => readdirSync(join(folder, 'leases'))

it('is read for what it was written for, and for nothing else', () => {
  const leases = createLeases(folder)
  expect(leases.read(lease())).toBeUndefined()
  leases.write(lease())
  expect(createLeases(folder).read(lease())).toMatchObject(lease())
  for (const other of [{ identityUrl: 'https://other.example' }, { clientId: 'd' }, { nodeId: 'm' }])
    expect(leases.read(lease(other))).toBeUndefined()
  expect(statSync(join(folder, 'leases', files()[0]!)).mode & 0o777).toBe(0o600)
})

it.each([
  { identityUrl: 'https://other.example' },
  { clientId: 'd' },
  { nodeId: 'm' },
  { lease: 5 },
  { issuedAt: 'x' },
  { expiresAt: 'x' },
  { key: 'x' },
])('a file that states %j in its place is no lease', (wrong) => {
  const leases = createLeases(folder)
  leases.write(lease())
  const path = join(folder, 'leases', files()[0]!)
  writeFileSync(path, JSON.stringify({ format: 1, ...lease(), ...wrong }), { mode: 0o600 })
  expect(leases.read(lease())).toBeUndefined()
})

it('the next lease replaces it, and those of a project are removed together', () => {
  const leases = createLeases(folder)
  leases.removeAll(lease())
  leases.write(lease())
  leases.write(lease({ lease: 'second' }))
  leases.write(lease({ nodeId: 'm' }))
  leases.write(lease({ clientId: 'd' }))
  leases.write(lease({ identityUrl: 'https://other.example' }))
  expect(leases.read(lease())?.lease).toBe('second')
  expect(files()).toHaveLength(4)
  leases.removeAll({ identityUrl: 'https://id.example', clientId: 'c' })
  expect(leases.read(lease())).toBeUndefined()
  expect(leases.read(lease({ nodeId: 'm' }))).toBeUndefined()
  expect(leases.read(lease({ clientId: 'd' }))).toBeDefined()
  expect(leases.read(lease({ identityUrl: 'https://other.example' }))).toBeDefined()
})

it('a folder that others can write to is refused', () => {
  mkdirSync(join(folder, 'leases'), { mode: 0o700 })
  const leases = createLeases(folder)
  leases.write(lease())
  const path = join(folder, 'leases', files()[0]!)
  rmSync(path)
  writeFileSync(path, JSON.stringify(lease()), { mode: 0o644 })
  expect(() => leases.read(lease())).toThrow()
})
