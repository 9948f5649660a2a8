/** A folder has one process at a time. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { takeLock } from './folder-lock.ts'
import { StoreError } from './store-error.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('is refused to a second one until the first one releases it', () => {
  const file = join(folder, 'lock')
  const release = takeLock(file, 'in use')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(() => takeLock(file, 'in use')).toThrow(
    expect.objectContaining({ name: 'StoreError', message: 'in use', cause: expect.anything() }),
  )
  release()
  takeLock(file, 'in use')()
})

it('any other failure is not "in use"', () => {
  const file = join(folder, 'lock')
  writeFileSync(file, 'this is no database, and long enough to be read as one'.repeat(100))
  expect(() => takeLock(file, 'in use')).toThrow(/not a database/)
  expect(refusalOf(file)).not.toBeInstanceOf(StoreError)
  expect(() => takeLock(join(folder, 'none', 'lock'), 'in use')).toThrow(/ENOENT/)
})

function refusalOf(file: string): unknown {
  try {
    return takeLock(file, 'in use')
  } catch (cause) {
    return cause
  }
}
