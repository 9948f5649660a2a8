/** Recovery codes: each works once, for its person, in any spelling. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { createRecoveryCodes, type RecoveryCodes } from './recovery-codes.ts'

let store: SqlStore
let codes: RecoveryCodes
beforeEach(async () => {
  store = openMemoryStore(migrations)
  codes = createRecoveryCodes(store, createFakeClock())
  for (const id of ['ada', 'bob'])
    await store.run(
      sql`INSERT INTO people (person_id, email, password, created_at) VALUES (${id}, ${id}, '', 0)`,
    )
})
afterEach(() => store.close())

it('ten different codes without letters and digits that look similar', async () => {
  const made = await codes.create('ada')
  expect(new Set(made).size).toBe(10)
  for (const code of made) expect(code).toMatch(/^[B-DF-HJ-NP-TV-XZ2-9]{5}-[B-DF-HJ-NP-TV-XZ2-9]{5}$/)
  expect(await codes.left('ada')).toBe(10)
  expect(await codes.left('bob')).toBe(0)
})

it('a code works once', async () => {
  const [code = '', other = ''] = await codes.create('ada')
  expect(await codes.use('ada', code)).toBe(true)
  expect(await codes.use('ada', code)).toBe(false)
  expect(await codes.left('ada')).toBe(9)
  expect(await codes.use('ada', other)).toBe(true)
})

it.each<[string, (code: string) => string]>([
  ['in small letters', (code) => code.toLowerCase()],
  ['without its hyphen', (code) => code.replace('-', '')],
  ['with blanks', (code) => ` ${code.replace('-', ' - ')}\n`],
])('a code works %s', async (_, spell) => {
  const [code = ''] = await codes.create('ada')
  expect(await codes.use('ada', spell(code))).toBe(true)
})

it.each(['', 'BBBBB-BBBBB', '-'])('another text does not work: %j', async (text) => {
  await codes.create('ada')
  expect(await codes.use('ada', text)).toBe(false)
})

it('a code is of one person', async () => {
  const [code = ''] = await codes.create('ada')
  await codes.create('bob')
  expect(await codes.use('bob', code)).toBe(false)
  expect(await codes.left('ada')).toBe(10)
})

it('new codes replace those from before, of this person only', async () => {
  const [before = ''] = await codes.create('ada')
  const [others = ''] = await codes.create('bob')
  await codes.create('ada')
  expect(await codes.left('ada')).toBe(10)
  expect(await codes.use('ada', before)).toBe(false)
  expect(await codes.use('bob', others)).toBe(true)
})

it('codes are stored as hashes', async () => {
  const [code = ''] = await codes.create('ada')
  const rows = JSON.stringify(await store.run(sql`SELECT * FROM recovery_codes`))
  expect(rows).not.toContain(code)
  expect(rows).not.toContain(code.replace('-', ''))
})
