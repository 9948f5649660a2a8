/** What people do with many devices: find them, export them, and change several at once. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { identityPaths } from '@selvedge/protocol'
import { maxAccountTags, maxBulkDevices, maxDeviceTags } from '@selvedge/protocol/console'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, reasonOf, startWithOwner } from '../../harness/console.ts'
import { adminOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import type { Program } from '../../harness/processes.ts'

let identity: Program
let owner: ConsoleSession
let member: ConsoleSession
/** The owner of another account. */
let stranger: ConsoleSession
let state: string
let stop: () => Promise<void>
let accountId: string
let othersId: string

const nodeIdOf = (at: number): string => at.toString(16).padStart(56, '0')

/** Names that a device may state, each meant for another program that reads them. */
const hostile = [
  "=cmd|' /C calc'!A0",
  '+1+1',
  '-2+3',
  '@SUM(1+1)',
  '\t=1+1',
  '\r\n=1+1',
  '  =1+1',
  '＝1+1',
  'a","=1+1',
  'line\nbreak\r\nand "quotes"',
  '\u202Egnp.exe\u202C',
  '\u001b]0;owned\u0007',
  'nul\u0000 and \ud800 half',
  '🚐 van 👩🏽‍🚒',
  'شاحنة',
  '<img src=x onerror=alert(1)>',
  '!%_',
]

function inDatabase<T>(work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(state, 'identity', 'identity.db'), { timeout: 30_000 })
  try {
    return work(database)
  } finally {
    database.close()
  }
}

const add = (
  at: number,
  name: string,
  more: { account?: string; version?: string; services?: string[] } = {},
) =>
  inDatabase((database) =>
    database
      .prepare(
        `INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at, version, services)
        VALUES (?, ?, ?, '', '', '', ?, ?, ?, ?)`,
      )
      .run(
        ...[nodeIdOf(at), name, more.account ?? accountId, at, Date.now(), more.version ?? '1.0.0'],
        JSON.stringify(
          (more.services ?? []).map((each) => ({ id: each, name: each, image: 'x', state: 'running' })),
        ),
      ),
  )

beforeAll(async () => {
  ;({ identity, owner, state, stop } = await startWithOwner())
  accountId = (await owner.api['session.get']()).viewer!.accountId
  const invitation = await owner.api['member.invite']({ role: 'member' })
  member = await enterByLink(identity.url, invitation.link, 'mia@example.com')
  const admin = adminOf(state)
  othersId = (await admin['account.create']({ email: 'bob@example.com' })).accountId
  const { link } = await admin['account.link']({ email: 'bob@example.com' })
  stranger = await enterByLink(identity.url, link, 'bob@example.com')
  for (const [at, name] of hostile.entries())
    add(at + 1, name, { version: '=9.9', services: ['@svc', 'gateway'] })
  add(100, 'van', { version: '1.4.2', services: ['gateway'] })
  add(101, 'van', { version: '1.4.2' })
  add(900, 'van', { account: othersId, version: '7.7.7', services: ['secret-service'] })
})
afterAll(() => stop?.())

const vans = [nodeIdOf(100), nodeIdOf(101)]
const idsOf = async (params: object, who = owner) =>
  (await who.api['device.list'](params as never)).devices.map(({ nodeId }) => nodeId)

describe('a list of devices', () => {
  it('is filtered by service, version and tag, and by all of them together', async () => {
    expect(await idsOf({ version: '1.4.2' })).toEqual(vans)
    expect(await idsOf({ service: 'gateway', version: '1.4.2' })).toEqual([vans[0]])
    await owner.api['device.label']({ nodeId: vans[1]!, label: '', tags: ['type:van'] })
    expect(await idsOf({ tag: 'TYPE:van' })).toEqual([vans[1]])
    expect(await idsOf({ tag: 'type:van', service: 'gateway' })).toEqual([])
    expect(await idsOf({ service: 'gate' })).toEqual([])
    expect(await idsOf({ service: '@svc' })).toHaveLength(hostile.length)
  })

  it('shows two devices of one name as two, by their IDs', async () => {
    expect(await idsOf({ search: 'van', version: '1.4.2' })).toEqual(vans)
  })

  it.each(['%', '_', "'; DROP TABLE nodes; --", '\\', '🚐', '\u202e', '"'])(
    'finds the text %j and no pattern',
    async (search) => {
      const { devices } = await owner.api['device.list']({ search })
      for (const { name } of devices) expect(name).toContain(search)
    },
  )

  it('is searched so many times, and listed without a limit', async () => {
    const answers: string[] = []
    for (let count = 0; count < 60 && answers.at(-1) !== 'busy'; count++)
      answers.push(await reasonOf(stranger.api['device.list']({ search: 'x' })))
    expect(answers.length).toBeGreaterThan(20)
    expect(answers.at(-1)).toBe('busy')
    expect(Number(stranger.last().headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await reasonOf(stranger.api['device.list']({}))).toBe('accepted')
  })

  it('counts what its devices can be filtered by, and nothing of another account', async () => {
    const facets = await owner.api['device.facets']()
    expect(facets.tag).toEqual({ values: [{ value: 'type:van', count: 1 }], isCut: false })
    expect(facets.service.values).toEqual([
      { value: 'gateway', count: hostile.length + 1 },
      { value: '@svc', count: hostile.length },
    ])
    expect(facets.version.values.map(({ value }) => value)).toEqual(['=9.9', '1.4.2'])
    expect(JSON.stringify(await stranger.api['device.facets']())).not.toContain('gateway')
    expect(await idsOf({ service: 'secret-service' })).toEqual([])
  })
})

describe('an export', () => {
  const csvOf = async (query: string, who = owner) => {
    const answer = await who.get(`${identityPaths.consoleDevicesCsv}${query}`)
    expect(answer.status).toBe(200)
    return answer.text()
  }

  it('brings what the filter selects as JSON, names as they are', async () => {
    const answer = await owner.get(`${identityPaths.consoleDevicesJson}?version=%3D9.9`)
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="selvedge-devices.json"')
    const text = await answer.text()
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/)
    const names = (JSON.parse(text) as { name: string }[]).map(({ name }) => name)
    // The store replaces half a character.
    expect(names).toEqual(hostile.map((name) => name.replace('\ud800', '\ufffd')))
    const none = await owner.get(`${identityPaths.consoleDevicesJson}?tag=none`)
    expect(await none.json()).toEqual([])
  })

  it('has no cell that a spreadsheet reads as a formula', needs('python3'), async () => {
    const text = await csvOf('')
    const script = `import csv,io,json,sys
rows=list(csv.reader(io.TextIOWrapper(sys.stdin.buffer,encoding='utf-8',newline=''),strict=True))
json.dump(rows,sys.stdout)`
    const [head, ...rows] = JSON.parse(
      execFileSync('python3', ['-c', script], { input: text, encoding: 'utf8' }),
    ) as string[][]
    expect(head!.slice(0, 5)).toEqual(['Node ID', 'Name', 'Calls itself', 'Status', 'Tags'])
    expect(rows).toHaveLength(hostile.length + 2)
    for (const row of rows) {
      expect(row).toHaveLength(head!.length)
      for (const cell of row) expect(cell).not.toMatch(/^\s*[=+\-@＝＋－＠]/)
      expect(row.join('')).not.toMatch(/[\u0000-\u001f\u202a-\u202e]/)
    }
    expect(rows[0]![1]).toBe("'=cmd|' /C calc'!A0")
    expect(rows[0]![5]).toBe("'=9.9")
    expect(rows[0]![6]).toBe("'@svc (running); gateway (running)")
  })

  it('ends lines as RFC 4180 does, and contains what the filter selects alone', async () => {
    const lines = (await csvOf('?version=1.4.2&service=gateway')).split('\r\n')
    expect(lines).toHaveLength(3)
    expect(lines[1]).toContain(`"${vans[0]}","van","van","online"`)
    expect(lines[2]).toBe('')
    expect(await csvOf('?service=gateway', stranger)).not.toContain('van')
  })

  it.each(['?state=lost', '?tag=a&tag=b', '?more=1', '?tag=%00', `?search=${'x'.repeat(65)}`])(
    'refuses the query %s',
    async (query) => {
      expect((await stranger.get(identityPaths.consoleDevicesCsv + query)).status).toBe(400)
    },
  )

  it('is for people who are signed in, is recorded, and has a limit', async () => {
    expect((await fetch(identity.url + identityPaths.consoleDevicesCsv, { redirect: 'error' })).status).toBe(
      401,
    )
    await csvOf('', member)
    const [entry] = await owner.api['audit.list']({ before: null })
    expect(entry).toMatchObject({ actor: 'mia@example.com', action: 'device.export', detail: 'csv' })
    const statuses = []
    for (let count = 0; count < 12; count++)
      statuses.push((await member.get(`${identityPaths.consoleDevicesCsv}?tag=none`)).status)
    expect(statuses.at(-1)).toBe(429)
    expect(Number(member.last().headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

describe('a change of several devices', () => {
  const foreign = nodeIdOf(900)
  const missing = nodeIdOf(99_999)

  it('adds and removes tags, records each device, and names those that were not changed', async () => {
    const result = await member.api['devices.tag']({
      ...{ nodeIds: [vans[0]!, foreign, missing, vans[1]!, vans[0]!] },
      ...{ add: ['site:oslo'], remove: ['type:van'] },
    })
    expect(result.done).toEqual(vans)
    expect(result.failed.map(({ nodeId, reason }) => [nodeId, reason])).toEqual([
      [foreign, 'not_found'],
      [missing, 'not_found'],
    ])
    expect(await idsOf({ tag: 'site:oslo' })).toEqual(vans)
    expect(await idsOf({ tag: 'type:van' })).toEqual([])
    const [second, first] = await owner.api['audit.list']({ before: null })
    expect(
      [first, second].map((entry) => [entry!.action, entry!.subject, entry!.actor, entry!.detail]),
    ).toEqual(vans.map((nodeId) => ['device.tag', nodeId, 'mia@example.com', '+site:oslo -type:van']))
    expect((await stranger.api['device.get']({ nodeId: foreign })).device.tags).toEqual([])
  })

  it('does not lose tags that others add at the same time', async () => {
    const tags = Array.from({ length: 6 }, (_, at) => `at:${at}`)
    const results = await Promise.all(
      tags.map((tag) => owner.api['devices.tag']({ nodeIds: vans, add: [tag], remove: [] })),
    )
    const wanted = tags.filter((_, at) => results[at]!.done.includes(vans[0]!))
    const { device } = await owner.api['device.get']({ nodeId: vans[0]! })
    expect(wanted.filter((tag) => !device.tags.includes(tag))).toEqual([])
    await owner.api['devices.tag']({ nodeIds: vans, add: [], remove: tags })
  })

  it('blocks and unblocks for owners, and revokes for members', async () => {
    expect(await reasonOf(member.api['devices.block']({ nodeIds: vans }))).toBe('forbidden')
    expect(await reasonOf(member.api['devices.unblock']({ nodeIds: vans }))).toBe('forbidden')
    expect((await member.api['devices.revoke']({ nodeIds: vans })).done).toEqual(vans)
    const blocked = await owner.api['devices.block']({ nodeIds: [...vans, foreign] })
    expect(blocked.done).toEqual(vans)
    expect(await idsOf({ state: 'blocked' })).toEqual(vans)
    expect(await idsOf({ state: 'blocked' }, stranger)).toEqual([])
    expect((await owner.api['devices.unblock']({ nodeIds: vans })).done).toEqual(vans)
    const actions = (await owner.api['audit.list']({ before: null })).slice(0, 6).map(({ action }) => action)
    expect(actions).toEqual([
      ...[
        'device.unblock',
        'device.unblock',
        'device.block',
        'device.block',
        'device.revoke',
        'device.revoke',
      ],
    ])
  })

  it.each<[string, object]>([
    ['no device', { nodeIds: [] }],
    ['too many devices', { nodeIds: Array.from({ length: maxBulkDevices + 1 }, (_, at) => nodeIdOf(at)) }],
    ['what is no node ID', { nodeIds: ['../x'] }],
  ])('refuses %s', async (_, params) => {
    expect(await reasonOf(owner.api['devices.revoke'](params as never))).toBe('invalid_params')
  })

  it.each(['a b', 'ä:b', ':x', 'x:', 'a:b:c', '"', '\u202ea', 'x'.repeat(65), ''])(
    'refuses the tag %j',
    async (tag) => {
      const params = { nodeIds: vans, add: [tag], remove: [] }
      expect(await reasonOf(owner.api['devices.tag'](params))).toBe('invalid_params')
    },
  )

  it('gives a device no more tags than it may have, and keeps those that it has', async () => {
    const tags = Array.from({ length: maxDeviceTags }, (_, at) => `many:${at}`)
    const { failed } = await owner.api['devices.tag']({ nodeIds: vans, add: tags, remove: [] })
    expect(failed.map(({ reason }) => reason)).toEqual(['limit_exceeded', 'limit_exceeded'])
    expect((await owner.api['device.get']({ nodeId: vans[0]! })).device.tags).toEqual(['site:oslo'])
  })

  it('is limited for an account', async () => {
    const answers: string[] = []
    for (let count = 0; count < 40 && answers.at(-1) !== 'busy'; count++)
      answers.push(await reasonOf(stranger.api['devices.revoke']({ nodeIds: [missing] })))
    expect(answers.at(-1)).toBe('busy')
    expect(stranger.last().status).toBe(429)
  })
})

it('an account has so many different tags, and those that it has can still be given', async () => {
  for (let at = 0; at < maxAccountTags / maxDeviceTags + 1; at++) add(10_000 + at, `tagged ${at}`)
  inDatabase((database) => {
    for (let at = 0; at < maxAccountTags / maxDeviceTags - 1; at++) {
      const tags = Array.from({ length: maxDeviceTags }, (_, tag) => `t${at}:${tag}`)
      database
        .prepare('INSERT INTO device_labels VALUES (?, ?, ?, ?)')
        .run(nodeIdOf(10_000 + at), accountId, '', JSON.stringify(tags))
    }
  })
  const nodeId = nodeIdOf(10_000 + maxAccountTags / maxDeviceTags)
  const label = (tags: readonly string[]) =>
    reasonOf(owner.api['device.label']({ nodeId, label: '', tags: [...tags] }))
  // 980 and `site:oslo` are there.
  expect(await label(Array.from({ length: 20 }, (_, at) => `new:${at}`))).toBe('limit_exceeded')
  expect(await label(Array.from({ length: 19 }, (_, at) => `new:${at}`))).toBe('accepted')
  expect(await label(['one-more', 'site:oslo'])).toBe('limit_exceeded')
  expect(await label(['site:oslo'])).toBe('accepted')
  expect(await label(['one-more', 'site:oslo'])).toBe('accepted')
  expect(await label(Array.from({ length: 20 }, (_, at) => `t0:${at}`))).toBe('accepted')
  const { tag } = await owner.api['device.facets']()
  expect(tag.values.length).toBeLessThanOrEqual(100)
})
