/** Paths that containers gave up stay their project's, also after a restart. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDocument } from '@selvedge/service-kit/store'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openHeldPaths } from './held-paths.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'held-'))
})
afterEach(() => rmSync(folder, { recursive: true }))
const held = { accountId: 'a', clientId: 'c', path: '/x', until: 5 }

it('is empty at first, and read as it was written', async () => {
  const store = await openHeldPaths(folder)
  expect(store.value).toEqual([])
  await store.update(() => [held])
  await store.close()
  const again = await openHeldPaths(folder)
  expect(again.value).toEqual([held])
  await again.close()
})

it.each([
  [{}],
  [[{ ...held, other: 1 }]],
  [[{ ...held, accountId: 1 }]],
  [[{ ...held, clientId: 1 }]],
  [[{ ...held, path: 1 }]],
  [[{ ...held, until: '5' }]],
])('%j cannot be read', async (wrong) => {
  const store = await openDocument<unknown>(join(folder, 'held-paths'), {
    version: 1,
    initial: [],
    read: (json) => json,
  })
  await store.update(() => wrong)
  await store.close()
  await expect(openHeldPaths(folder)).rejects.toThrow()
})
