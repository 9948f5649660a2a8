/** What people call a device: seen by the account that has it, bounded, and not lost by changes at once. */
import { maxAccountTags, maxDeviceTags } from '@selvedge/protocol/console'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { createDeviceLabels, type DeviceLabels, toLabel } from './device-labels.ts'

let store: SqlStore
let labels: DeviceLabels
beforeEach(async () => {
  store = openMemoryStore(migrations)
  labels = createDeviceLabels(store)
  for (const id of ['n', 'm'])
    await store.run(sql`INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at)
      VALUES (${id}, 'node', 'a', '', '', '', 0, 0)`)
})
afterEach(() => store.close())

const none = { name: '', tags: [] }
const moveTo = (accountId: string) =>
  store.run(sql`UPDATE nodes SET account_id = ${accountId} WHERE node_id = 'n'`)
/** Gives the other device tags of its own. */
const fill = (count: number) =>
  labels.set('a', 'm', { name: '', tags: Array.from({ length: count }, (_, at) => `t${at}`) })

it('a row without a label has an empty one', () => {
  expect(toLabel(undefined)).toEqual(none)
  expect(toLabel({ label_name: null, label_tags: null })).toEqual(none)
  expect(toLabel({ label_name: 'van', label_tags: '["x"]' })).toEqual({ name: 'van', tags: ['x'] })
})

describe('a label', () => {
  it('is replaced as a whole', async () => {
    expect(await labels.find('a', 'n')).toEqual(none)
    await labels.set('a', 'n', { name: 'van', tags: ['x', 'y'] })
    expect(await labels.find('a', 'n')).toEqual({ name: 'van', tags: ['x', 'y'] })
    await labels.set('a', 'n', { name: '', tags: ['z'] })
    expect(await labels.find('a', 'n')).toEqual({ name: '', tags: ['z'] })
    expect(await labels.find('a', 'm')).toEqual(none)
  })

  it('is written and seen by the account that has the device alone', async () => {
    await labels.set('b', 'n', { name: 'stolen', tags: [] })
    expect(await labels.find('b', 'n')).toEqual(none)
    await labels.set('a', 'n', { name: 'van', tags: ['x'] })
    expect(await labels.find('b', 'n')).toEqual(none)
    await moveTo('b')
    await labels.tag('b', 'n', { add: ['own'], remove: [] })
    expect(await labels.find('b', 'n')).toEqual({ name: '', tags: ['own'] })
    expect(await labels.find('a', 'n')).toEqual(none)
  })

  it('has no tags beyond those that the account may have, and known ones are not counted again', async () => {
    await fill(maxAccountTags - 1)
    const refused = {
      reason: 'limit_exceeded',
      message: `an account has at most ${maxAccountTags} different tags`,
    }
    await expect(labels.set('a', 'n', { name: '', tags: ['x', 'y'] })).rejects.toMatchObject(refused)
    expect(await labels.find('a', 'n')).toEqual(none)
    await labels.set('a', 'n', { name: '', tags: ['x', 't0'] })
    await expect(labels.tag('a', 'n', { add: ['y'], remove: [] })).rejects.toMatchObject(refused)
    await labels.tag('a', 'n', { add: ['t1'], remove: [] })
    expect(await labels.find('a', 'n')).toMatchObject({ tags: ['x', 't0', 't1'] })
  })
})

describe('a tag', () => {
  it('is added once and removed, and the rest of the label stays', async () => {
    await labels.set('a', 'n', { name: 'van', tags: ['x'] })
    await labels.tag('a', 'n', { add: ['y', 'y', 'x'], remove: ['unknown'] })
    expect(await labels.find('a', 'n')).toEqual({ name: 'van', tags: ['x', 'y'] })
    await labels.tag('a', 'n', { add: ['z'], remove: ['x', 'z'] })
    expect(await labels.find('a', 'n')).toEqual({ name: 'van', tags: ['y'] })
  })

  it('is refused beyond the limit of a device', async () => {
    const tags = Array.from({ length: maxDeviceTags }, (_, at) => `t${at}`)
    await labels.tag('a', 'n', { add: tags, remove: [] })
    await expect(labels.tag('a', 'n', { add: ['more'], remove: [] })).rejects.toMatchObject({
      reason: 'limit_exceeded',
      message: `a device has at most ${maxDeviceTags} tags`,
    })
    await labels.tag('a', 'n', { add: ['more'], remove: ['t0'] })
    expect(await labels.find('a', 'n')).toMatchObject({ tags: [...tags.slice(1), 'more'] })
  })

  /** A store in which another person changes the label each time that it was read. */
  function contested(times: number) {
    let left = times
    const run = async (statement: Parameters<SqlStore['run']>[0]) => {
      const rows = await store.run(statement)
      if (statement.sql.startsWith('SELECT name AS label_name') && left-- > 0)
        await labels.set('a', 'n', { name: 'theirs', tags: [`t${left}`] })
      return rows
    }
    return createDeviceLabels({ ...store, run: run as SqlStore['run'] })
  }

  it('is added to what another person wrote meanwhile', async () => {
    await contested(4).tag('a', 'n', { add: ['own'], remove: [] })
    expect(await labels.find('a', 'n')).toEqual({ name: 'theirs', tags: ['t0', 'own'] })
  })

  it('is refused after five attempts', async () => {
    await expect(contested(5).tag('a', 'n', { add: ['own'], remove: [] })).rejects.toMatchObject({
      reason: 'busy',
      message: 'others change the tags of the device',
    })
    expect(await labels.find('a', 'n')).toEqual({ name: 'theirs', tags: ['t0'] })
  })
})
