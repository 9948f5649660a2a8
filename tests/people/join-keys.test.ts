/** Join keys, from the console of an owner to whole runtimes that start with one, and what a thief of a key can do. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntimeClient } from '@selvedge/client'
import { identityPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cliEnvOf } from '../harness/cli.ts'
import { runCliHere as runCli } from '../harness/cli-here.ts'
import { type ConsoleSession, enterByLink, reasonOf } from '../harness/console.ts'
import { createNodeKey } from '../harness/device.ts'
import { adminOf, createDeveloper } from '../harness/flow.ts'
import { contactAs, joinAs } from '../harness/node-contact.ts'
import { type Program, type Stack, startProgram, startStack, temporaryFolder } from '../harness/processes.ts'

let stack: Stack
let owner: ConsoleSession
let accountId: string
const ends: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  // A new node needs a code or a join key.
  stack = await startStack({ identity: ['--enrolment=code'] })
  const developer = await createDeveloper(stack.state)
  accountId = developer.accountId
  const { link } = await adminOf(stack.state)['account.link']({ email: developer.email })
  owner = await enterByLink(stack.identity.url, link, developer.email)
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
  await stack?.stop()
})

const url = () => stack.identity.url
const make = (more: object = {}, by = owner) =>
  by.api['join_key.create']({
    ...{ title: '', name: '', tags: [], uses: 10, approve: false, project: null },
    until: new Date(Date.now() + 3_600_000).toISOString(),
    ...more,
  })

/** A runtime on a state folder of its own, which can be started again. */
async function newRuntime(env: Record<string, string>) {
  const folder = await temporaryFolder()
  let program: Program | undefined
  const start = async (more: Record<string, string> = env) => {
    await program?.stop()
    program = await startProgram('runtime', {
      ...{ SELVEDGE_STATE: folder.path, SELVEDGE_RUNTIME_PORT: '0', SELVEDGE_IDENTITY_URL: url() },
      ...{ SELVEDGE_DISCOVERY_URL: stack.discovery.url, ...more },
    })
  }
  ends.push(async () => {
    await program?.stop()
    await folder.remove()
  })
  await start()
  const me = () => createRuntimeClient({ url: program!.url }).getMe()
  return {
    ...{ start, me, folder: folder.path, url: () => program!.url },
    account: async () => (await me()).accountId,
    reasons: async () => (await me()).notices.map(({ reason }) => reason),
    edgeToken: () => createRuntimeClient({ url: program!.url }).getEdgeIdToken(),
  }
}

it('one start of a runtime enrols, associates, names and tags it, and needs the key no more', async () => {
  const { key, joinKey } = await make({ name: 'kiosk-{nodeId}', tags: ['team:kiosk'] })
  const runtime = await newRuntime({ SELVEDGE_JOIN_KEY: key })
  await expect.poll(runtime.account).toBe(accountId)
  const { nodeId } = await runtime.me()
  const { device } = await owner.api['device.get']({ nodeId })
  expect(device).toMatchObject({ label: `kiosk-${nodeId.slice(0, 8)}`, tags: ['team:kiosk'] })
  await runtime.start()
  expect([await runtime.account(), await runtime.reasons()]).toEqual([accountId, []])
  const [listed] = (await owner.api['join_key.list']()).filter(({ keyId }) => keyId === joinKey.keyId)
  expect(listed).toMatchObject({ used: 1, uses: 10, ending: null })
})

it('a device that its owner removed stays without an account, with the key still in its environment', async () => {
  const { key } = await make()
  const runtime = await newRuntime({ SELVEDGE_JOIN_KEY: key })
  await expect.poll(runtime.account).toBe(accountId)
  const { nodeId } = await runtime.me()
  await owner.api['device.disassociate']({ nodeId })
  await runtime.start()
  await expect.poll(runtime.account).toBe('')
  await runtime.start()
  expect((await runtime.edgeToken()).id_token).toMatch(/^eyJ/)
  expect([await runtime.account(), await runtime.reasons()]).toEqual(['', []])
})

it('a device waits for an approval, and joins at its next contact', async () => {
  const { key } = await make({ approve: true, title: 'lab' })
  const runtime = await newRuntime({ SELVEDGE_JOIN_KEY: key })
  await expect.poll(runtime.reasons).toEqual(['join_waiting'])
  const { nodeId } = await runtime.me()
  const [waiting] = await owner.api['join.waiting']()
  expect(waiting).toMatchObject({ nodeId, keyTitle: 'lab', address: '127.0.0.1' })
  expect(nodeId.startsWith(waiting!.fingerprint.replaceAll('-', ''))).toBe(true)
  expect(await owner.api['join.approve']({ nodeIds: [nodeId, 'f'.repeat(56)] })).toMatchObject({
    done: [nodeId],
    failed: [{ nodeId: 'f'.repeat(56), reason: 'not_found' }],
  })
  await runtime.start()
  await expect.poll(runtime.account).toBe(accountId)
})

it('a runtime reads its key from a file that others cannot read', async () => {
  const { key } = await make()
  const runtime = await newRuntime({})
  const path = join(runtime.folder, 'key-of-the-image')
  writeFileSync(path, `${key}\n`)
  chmodSync(path, 0o644)
  const config = join(runtime.folder, 'config.json')
  writeFileSync(config, JSON.stringify({ runtime: { identity: { joinKeyFile: path } } }))
  await runtime.start({ SELVEDGE_CONFIG: config })
  expect(await runtime.reasons()).toEqual(['join_refused'])
  chmodSync(path, 0o600)
  await runtime.start({ SELVEDGE_CONFIG: config })
  await expect.poll(runtime.account).toBe(accountId)
  expect(await runtime.reasons()).toEqual([])
})

describe('selvedge up --join-key-file', () => {
  const up = (runtime: { folder: string; url: () => string }, file: string, ...more: string[]) =>
    runCli(['up', '--join-key-file', file, ...more], {
      ...cliEnvOf({ state: runtime.folder }),
      SELVEDGE_RUNTIME_URL: runtime.url(),
    })
  const keyFile = (runtime: { folder: string }, content: string) => {
    const path = join(runtime.folder, 'given')
    writeFileSync(path, `${content}\n`, { mode: 0o600 })
    return path
  }

  it('joins a runtime that runs, and is refused by one with an account', async () => {
    const { key } = await make()
    const runtime = await newRuntime({})
    const path = keyFile(runtime, key)
    const { out } = await up(runtime, path)
    expect(out).toContain(`belongs to the account ${accountId}`)
    expect(await runtime.account()).toBe(accountId)
    expect((await up(runtime, path)).errors).toContain('already_associated')
    await runtime.start()
    expect([await runtime.account(), await runtime.reasons()]).toEqual([accountId, []])
  })

  it('names the fingerprint that an owner compares, and joins after a restart', async () => {
    const { key } = await make({ approve: true })
    const runtime = await newRuntime({})
    const { fingerprint, state, nodeId } = JSON.parse(
      (await up(runtime, keyFile(runtime, key), '--json')).out,
    )
    expect(state).toBe('waiting')
    expect((await owner.api['join.waiting']()).map((each) => each.fingerprint)).toContain(fingerprint)
    const env = { ...cliEnvOf({ state: runtime.folder }), SELVEDGE_RUNTIME_URL: runtime.url() }
    for (const command of ['status', 'doctor', 'me'])
      expect((await runCli([command], env)).out).toContain(fingerprint)
    await owner.api['join.approve']({ nodeIds: [nodeId] })
    await runtime.start()
    await expect.poll(runtime.account).toBe(accountId)
  })

  it('shows why a key is refused, and stores nothing', async () => {
    const { key, joinKey } = await make()
    await owner.api['join_key.revoke']({ keyId: joinKey.keyId, devices: false })
    const runtime = await newRuntime({})
    const { code, errors } = await up(runtime, keyFile(runtime, key))
    expect([code, errors]).toEqual([4, expect.stringContaining('it was revoked')])
    expect(errors).not.toContain(key)
    expect((await up(runtime, keyFile(runtime, 'sj_short'))).code).toBe(2)
    await runtime.start()
    expect(await runtime.reasons()).toEqual([])
  })
})

it('a runtime with a key that is refused shows a notice', async () => {
  const { key, joinKey } = await make()
  await owner.api['join_key.revoke']({ keyId: joinKey.keyId, devices: false })
  const runtime = await newRuntime({ SELVEDGE_JOIN_KEY: key })
  await expect.poll(runtime.reasons).toEqual(['join_refused'])
  expect(await runtime.account()).toBe('')
})

describe('a thief of a join key', () => {
  it.each([
    [identityPaths.accountApi, 'Bearer'],
    [identityPaths.userinfo, 'Bearer'],
  ])('gets nothing from %s with it as a token', async (path, scheme) => {
    const { key } = await make()
    const answer = await fetch(url() + path, {
      method: 'POST',
      headers: { Authorization: `${scheme} ${key}`, 'Content-Type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"join_key.list","params":{}}',
    })
    expect(answer.status).toBe(401)
  })

  it('adds a device that is seen, and blocks with all others of the key', async () => {
    const { key, joinKey } = await make()
    const thief = createNodeKey()
    const answer = await joinAs(thief, url(), { key, serial: 'SN-1' })
    expect(answer).toMatchObject({ join: 'joined', account_id: accountId })
    expect(await owner.api['join_key.revoke']({ keyId: joinKey.keyId, devices: true })).toEqual({
      blocked: 1,
      toBlock: 0,
    })
    await expect(joinAs(thief, url(), { key })).rejects.toThrow('this node is blocked')
    await expect(joinAs(createNodeKey(), url(), { key })).rejects.toThrow('it was revoked')
    const log = await owner.api['audit.list']({ before: null, action: 'join_key.' } as never)
    expect(JSON.stringify(log)).not.toContain(key)
  })

  it('chooses neither the account, nor names, nor tags', async () => {
    const { key } = await make({ name: 'lab', tags: ['a'] })
    const node = createNodeKey()
    const claim = { key, serial: '{nodeId}', name: 'mine', tags: ['b'], account_id: 'other', uses: 9 }
    expect((await joinAs(node, url(), claim)).account_id).toBe(accountId)
    const { device } = await owner.api['device.get']({ nodeId: node.nodeId })
    expect([device.label, device.tags]).toEqual(['lab', ['a']])
  })

  it.each([
    ['a key of another form', { key: 'sj_short' }],
    ['a serial number of 10,000 characters', { serial: 'x'.repeat(3000) }],
    ['a list', []],
    ['null', null],
    ['numbers', { key: 1, serial: 2 }],
  ])('is refused with %s', async (_, claim) => {
    const { key } = await make()
    const whole = Array.isArray(claim) || claim === null ? claim : { key, ...claim }
    await expect(joinAs(createNodeKey(), url(), whole as never)).rejects.toThrow('malformed')
  })

  it('learns nothing of a guessed key, and a node that states its account joins by no key', async () => {
    const guess = `sj_${'g'.repeat(32)}`
    await expect(joinAs(createNodeKey(), url(), { key: guess })).rejects.toThrow('no such key is known')
    const { key } = await make()
    const node = createNodeKey()
    await joinAs(node, url(), { key })
    const answer = await joinAs(node, url(), { key }, { account: { id: '' } })
    expect([answer.account_id, answer.join]).toEqual(['', undefined])
    await expect(joinAs(node, url(), { key })).rejects.toThrow('left it')
  })

  it('cannot enrol a node without an account', async () => {
    await expect(contactAs(createNodeKey(), url())).rejects.toThrow('enrolment needs a code')
  })
})

it('members who are no owners make, list and revoke no keys, and approve no device', async () => {
  const { link } = await owner.api['member.invite']({ role: 'member' })
  const member = await enterByLink(url(), link, 'member@example.com')
  const { joinKey } = await make()
  const { keyId } = joinKey
  const calls = [
    make({}, member),
    member.api['join_key.list'](),
    member.api['join_key.revoke']({ keyId, devices: true }),
    member.api['join.rules'](),
    member.api['join.set_rules']({ approve: true }),
    member.api['join.waiting'](),
    member.api['join.approve']({ nodeIds: ['0'.repeat(56)] }),
    member.api['join.refuse']({ nodeIds: ['0'.repeat(56)] }),
  ]
  expect(new Set(await Promise.all(calls.map(reasonOf)))).toEqual(new Set(['forbidden']))
})

it.each([
  ['a name that leads out of the template', { name: '{serial}{../../x}' }],
  ['a name with a control character', { name: 'a\u202Eb' }],
  ['a name of 61 characters', { name: 'x'.repeat(61) }],
  ['no uses', { uses: 0 }],
  ['100,001 uses', { uses: 100_001 }],
  ['21 tags', { tags: Array.from({ length: 21 }, (_, at) => `t${at}`) }],
  ['a tag with a space', { tags: ['a b'] }],
  ['a time in the past', { until: '2020-01-01T00:00:00Z' }],
  ['a time beyond a year', { until: new Date(Date.now() + 367 * 86_400_000).toISOString() }],
])('a key with %s is not made', async (_, more) => {
  expect(await reasonOf(make(more))).toBe('invalid_params')
})
