import { openMemoryStore } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { migrations } from '../schema.ts'
import { openSecret } from './open-secret.ts'
import { createSeal } from './seal.ts'

it('a secret is made once, stored encrypted for its name, and the same from then on', async () => {
  const store = openMemoryStore(migrations)
  const seal = createSeal([Buffer.alloc(32, 1)])
  const secret = await openSecret(store, seal, 'cookies')
  expect(secret).toHaveLength(32)
  expect(await openSecret(store, seal, 'cookies')).toEqual(secret)
  expect(await openSecret(store, seal, 'tickets')).not.toEqual(secret)
  const rows = await store.run({ sql: 'SELECT name, value FROM settings ORDER BY name', values: [] })
  const stored = rows.find(({ name }) => name === 'cookies')!.value as string
  expect(seal.isSealed(stored)).toBe(true)
  expect(stored).not.toContain(secret.toString('base64url'))
  expect(Buffer.from(seal.open(stored, 'secret cookies'), 'base64url')).toEqual(secret)
  expect(() => seal.open(stored, 'secret tickets')).toThrow()
  await store.close()
})
