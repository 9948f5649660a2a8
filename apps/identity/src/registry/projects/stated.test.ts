/** A change writes what it states, and nothing of a project that was removed. */
import { sql } from '@selvedge/service-kit/store'
import { expect, it } from 'vitest'
import { ifProjectExists, isStated, updateStated, withStated } from './stated.ts'

it('a change states something if any member has a value, also a false one', () => {
  expect(isStated({})).toBe(false)
  expect(isStated({ name: undefined, active: undefined })).toBe(false)
  expect(isStated({ name: undefined, active: 0 })).toBe(true)
  expect(isStated({ name: '' })).toBe(true)
})

it('an update sets the stated columns of one project', () => {
  expect(updateStated('projects', 'c', { name: 'n', dpop: undefined, active: 0 })).toEqual({
    sql: 'UPDATE projects SET client_id = client_id, name = ?, active = ? WHERE client_id = ?',
    values: ['n', 0, 'c'],
  })
  expect(updateStated('projects', 'c', {})).toEqual({
    sql: 'UPDATE projects SET client_id = client_id WHERE client_id = ?',
    values: ['c'],
  })
})

it('a row is inserted only while its project is there', () => {
  expect(ifProjectExists('c', sql`INSERT INTO t SELECT ${'x'}`)).toEqual({
    sql: 'INSERT INTO t SELECT ? WHERE EXISTS (SELECT 1 FROM projects WHERE client_id = ?)',
    values: ['x', 'c'],
  })
})

it('what is stated replaces what was, and the rest stays', () => {
  const before = { name: 'n', active: true, scopes: ['a'] }
  expect(withStated(before, { active: false, name: undefined })).toEqual({ ...before, active: false })
  expect(withStated(before, {})).toEqual(before)
})
