/**
 * A thousand devices join by one key: on SQLite and on two replicas of PostgreSQL. Then again, with answers that are lost and services that
 * are killed: each device joins once.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink } from '../../harness/console.ts'
import { createNodeKey, type NodeKey } from '../../harness/device.ts'
import { adminOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { joinAs } from '../../harness/node-contact.ts'
import { type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'
import { type Replicas, startReplicas } from '../../harness/replicas.ts'

const count = 1000
/** Devices that join at the same time. */
const parallel = 32

const email = 'ada@example.com'

/** Signs the owner in. */
async function ownerAt(state: string, url: string): Promise<ConsoleSession> {
  const { link } = await adminOf(state)['account.link']({ email })
  return enterByLink(url, link, email)
}

const make = (owner: ConsoleSession, uses: number) =>
  owner.api['join_key.create']({
    ...{ title: '', name: 'kiosk-{serial}', tags: ['team:kiosk'], uses, approve: false, project: null },
    until: new Date(Date.now() + 3_600_000).toISOString(),
  })

/** Runs work for each device, some at a time. */
async function forEach<T>(all: readonly T[], work: (one: T, at: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const run = async () => {
    for (let at = next++; at < all.length; at = next++) await work(all[at]!, at)
  }
  await Promise.all(Array.from({ length: parallel }, run))
}

/** Repeats until the service has answered, as a device does it. */
async function joinPatiently(node: NodeKey, url: string, key: string, serial: string): Promise<void> {
  for (;;) {
    const answer = await joinAs(node, url, { key, serial }).catch((cause: Error) => cause)
    if (!(answer instanceof Error)) return expect(answer.join).toBe('joined')
    if (!/ECONN|socket|timeout|not running|closed|answer|try again|could not be read/i.test(answer.message))
      throw answer
  }
}

/** All of the account's devices: each is owned, named and tagged, and no two have one name. */
async function expectAll(owner: ConsoleSession, nodes: readonly NodeKey[], keyId: string): Promise<void> {
  const found = new Map<string, { label: string; tags: readonly string[] }>()
  for (let page = 0; ; page++) {
    const { devices } = await owner.api['device.list']({ page })
    if (devices.length === 0) break
    for (const { nodeId, label, tags } of devices) found.set(nodeId, { label, tags })
  }
  const all = nodes.map(({ nodeId }, at) => [nodeId, { label: `kiosk-SN-${at}`, tags: ['team:kiosk'] }])
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(all))
  const key = (await owner.api['join_key.list']()).find((each) => each.keyId === keyId)
  expect(key).toMatchObject({ used: nodes.length, ending: 'used_up' })
}

describe('on SQLite', () => {
  it('a thousand devices join, and their service is killed meanwhile', async () => {
    const folder = await temporaryFolder()
    const env = { SELVEDGE_STATE: folder.path, SELVEDGE_IDENTITY_PORT: '0' }
    let identity: Program = await startProgram('identity', env)
    const { url } = identity
    const again = { ...env, SELVEDGE_IDENTITY_PORT: new URL(url).port }
    await adminOf(folder.path)['account.create']({ email })
    const owner = await ownerAt(folder.path, url)
    const { key, joinKey } = await make(owner, count)
    const nodes = Array.from({ length: count }, createNodeKey)
    const kills = [100, 400, 700]
    await forEach(nodes, async (node, at) => {
      if (kills.includes(at)) {
        await identity.stop('SIGKILL')
        identity = await startProgram('identity', again)
      }
      await joinPatiently(node, url, key, `SN-${at}`)
    })
    await expectAll(await ownerAt(folder.path, url), nodes, joinKey.keyId)
    await identity.stop()
    await folder.remove()
  })
})

describe('on two replicas', needs('postgres'), () => {
  let replicas: Replicas
  let owner: ConsoleSession
  beforeAll(async () => {
    replicas = await startReplicas(['--enrolment=code'])
    await adminOf(replicas.all[0].state)['account.create']({ email })
    owner = await ownerAt(replicas.all[0].state, replicas.url)
  })
  afterAll(() => replicas?.stop())

  it('a thousand devices join, each asking twice at once, while connections to the database end', async () => {
    const { key, joinKey } = await make(owner, count)
    const nodes = Array.from({ length: count }, createNodeKey)
    await forEach(nodes, async (node, at) => {
      if (at % 250 === 100) await replicas.endConnections()
      await Promise.all([0, 1].map(() => joinPatiently(node, replicas.url, key, `SN-${at}`)))
    })
    await expectAll(await ownerAt(replicas.all[0].state, replicas.url), nodes, joinKey.keyId)
  })

  it('of fifty devices that race for the last use, one joins', async () => {
    owner = await ownerAt(replicas.all[0].state, replicas.url)
    const { key } = await make(owner, 1)
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, () => joinAs(createNodeKey(), replicas.url, { key })),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })
})
