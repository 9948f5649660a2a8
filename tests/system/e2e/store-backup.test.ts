/** Backups of the services' stores: complete while they are written, restored by people under pressure, and never a silent loss. */
import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chownSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ran, runCli } from '../../harness/cli.ts'
import { accessToken, adminOf, createDeveloper, type Developer, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { post } from '../../harness/oauth.ts'
import {
  type Program,
  type Stack,
  startProgram,
  startStack,
  temporaryFolder,
} from '../../harness/processes.ts'

const envOf = (state: string) => ({ PATH: process.env.PATH ?? '', SELVEDGE_STATE: state })
const store = (state: string, action: 'backup' | 'restore', ...args: string[]): Promise<Ran> =>
  runCli(['admin', 'store', action, ...args, '--json'], envOf(state))

/** Names and content of the files of a folder, without the lock, which is always empty. */
const contentOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    (existsSync(folder) ? readdirSync(folder) : [])
      .filter((name) => name !== 'lock' && !name.endsWith('-shm'))
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ]),
  )

describe('the store of the identity service', () => {
  let stack: Stack
  let developer: Developer
  let identity: Program
  let files: Awaited<ReturnType<typeof temporaryFolder>>
  const place = { longitude: '1', latitude: '2', speed: '0', bearing: '0' }
  beforeAll(async () => {
    files = await temporaryFolder()
    stack = await startStack({ runtime: ['--revocations.interval=1'] })
    identity = stack.identity
    developer = await createDeveloper(stack.state)
    const token = await accessToken(stack, developer)
    await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
    await runtimeOf(stack).updateGps({ edgeAccessToken: token, ...place })
  })
  afterAll(async () => {
    await identity.stop()
    await stack.stop()
    await files.remove()
  })

  const startIdentity = (state = stack.state) =>
    startProgram('identity', {
      SELVEDGE_STATE: state,
      SELVEDGE_IDENTITY_PORT: new URL(stack.identity.url).port,
      SELVEDGE_DISCOVERY_URL: stack.discovery.url,
    })
  const reasonFor = (token: string) =>
    runtimeOf(stack)
      .getGps({ edgeAccessToken: token })
      .then(
        () => 'accepted',
        (cause) => (cause as { reason: string }).reason,
      )
  const expectReason = (token: string, reason: string) => expect.poll(() => reasonFor(token)).toBe(reason)
  const isActive = async (token: string) =>
    (await post(`${stack.identity.url}/introspect`, { token, client_id: developer.clientId })).body.active

  it('has everything that was acknowledged before, when it is copied under load', async () => {
    const acknowledged: string[] = []
    let isLoaded = true
    const load = Promise.all(
      Array.from({ length: 8 }, async (_, worker) => {
        for (let at = 0; isLoaded; at++) {
          const { accountId } = await adminOf(stack.state)['account.create']({
            email: `load${worker}-${at}@example.com`,
          })
          acknowledged.push(accountId)
        }
      }),
    )
    await expect.poll(() => acknowledged.length).toBeGreaterThan(100)
    const before = [...acknowledged]
    const file = join(files.path, 'under-load')
    const made = await store(stack.state, 'backup', file)
    const during = acknowledged.length - before.length
    isLoaded = false
    await load
    expect(made.errors).toBe('')
    expect(JSON.parse(made.out)).toMatchObject({ file, service: 'identity', hasKeys: true })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(files.path)).toEqual(['under-load'])
    // The copy delays no request: there were answers while it was made.
    expect(during).toBeGreaterThan(0)

    const token = await accessToken(stack, developer)
    await identity.stop()
    const empty = join(files.path, 'empty')
    const restored = await store(empty, 'restore', file)
    expect(restored.errors).toBe('')
    identity = await startIdentity(empty)
    const accounts = new Set((await adminOf(empty)['account.list']()).map(({ accountId }) => accountId))
    expect(before.filter((accountId) => !accounts.has(accountId))).toEqual([])
    expect(accounts.has(developer.accountId)).toBe(true)
    expect(await isActive(token)).toBe(true)
    expect(await reasonFor(token)).toBe('accepted')
    expect(await reasonFor(await accessToken(stack, developer))).toBe('accepted')
    await identity.stop()
    rmSync(empty, { recursive: true })
    identity = await startIdentity()
  })

  it('keeps at a device what was revoked after the backup, and new tokens and revocations count', async () => {
    const file = join(files.path, 'before-revocation')
    expect((await store(stack.state, 'backup', file)).code).toBe(0)
    const old = await accessToken(stack, developer)
    await adminOf(stack.state)['account.revoke']({ email: developer.email })
    await expectReason(old, 'token_revoked')
    await identity.stop()
    const { code, out } = await store(stack.state, 'restore', file)
    expect(code).toBe(0)
    const [previous] = (JSON.parse(out) as { previous: string[] }).previous
    expect(existsSync(previous!)).toBe(true)
    identity = await startIdentity()

    // Its developer ID token is valid again, and what it gives is newer than the revocation that the device keeps.
    const fresh = await accessToken(stack, developer)
    expect(await reasonFor(fresh)).toBe('accepted')
    expect(await reasonFor(old)).toBe('token_revoked')
    // The device accepts the lists of the restored service: a revocation in one has its effect.
    expect(
      (await post(`${stack.identity.url}/revoke`, { token: fresh, client_id: developer.clientId })).status,
    ).toBe(200)
    await expectReason(fresh, 'token_revoked')
    expect(await reasonFor(old)).toBe('token_revoked')
    expect(await reasonFor(await accessToken(stack, developer))).toBe('accepted')
    const { notices } = await runtimeOf(stack).getMe()
    expect(notices?.map(({ reason }) => reason)).toContain('revocations_restarted')
  })

  it('ends what is valid once, and with --revoke-all every token', async () => {
    await adminOf(stack.state)['enrolment.create']()
    const { linkId } = (await adminOf(stack.state)['link.list']())[0]!
    const file = join(files.path, 'revoke-all')
    expect((await store(stack.state, 'backup', file)).code).toBe(0)
    const token = await accessToken(stack, developer)
    await identity.stop()
    const { code, out } = await store(stack.state, 'restore', file, '--revoke-all')
    expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, revokedAll: true })
    identity = await startIdentity()
    expect(await isActive(token)).toBe(false)
    await expectReason(token, 'token_revoked')
    await expect(accessToken(stack, developer)).rejects.toThrow('revoked')
    // The one of the present start is another one.
    const links = await adminOf(stack.state)['link.list']()
    expect(links.map((each) => each.linkId)).not.toContain(linkId)
    const { clientId, email } = developer
    const made = await adminOf(stack.state)['token.developer.create']({ email, clientId, days: null })
    developer = { ...developer, ...made }
    expect(await reasonFor(await accessToken(stack, developer))).toBe('accepted')
  })

  it('is not restored while the service runs, and a backup overwrites no file', async () => {
    const file = join(files.path, 'running')
    expect((await store(stack.state, 'backup', file)).code).toBe(0)
    const before = readFileSync(file)
    const again = await store(stack.state, 'backup', file)
    expect(again).toMatchObject({ code: 2, errors: expect.stringContaining('exists already') })
    expect(readFileSync(file)).toEqual(before)
    const running = await store(stack.state, 'restore', file)
    expect(running).toMatchObject({ code: 1, errors: expect.stringContaining('stop it before') })
    expect(await adminOf(stack.state)['account.list']()).not.toEqual([])
  })

  it('is not replaced by a damaged, truncated, newer or foreign file', async () => {
    const file = join(files.path, 'whole')
    expect((await store(stack.state, 'backup', file)).code).toBe(0)
    await identity.stop()
    const folder = join(stack.state, 'identity')
    const before = contentOf(folder)
    const whole = readFileSync(file)
    const refused = async (content: Buffer, why: string | RegExp = 'Nothing was changed') => {
      const bad = join(files.path, 'bad')
      writeFileSync(bad, content)
      const { code, errors } = await store(stack.state, 'restore', bad)
      expect({ code, errors }).toEqual({ code: 1, errors: expect.stringMatching(why) })
      expect(contentOf(folder)).toEqual(before)
    }
    for (const at of [3, 20, 150, 400, 5000, Math.floor(whole.length / 2), whole.length - 1]) {
      const damaged = Buffer.from(whole)
      damaged[at]! ^= 4
      await refused(damaged)
    }
    for (const length of [0, 10, 120, 300, whole.length - 1]) await refused(whole.subarray(0, length))
    await refused(Buffer.concat([whole, Buffer.from('x')]))
    await refused(randomBytes(5000), 'not a backup of Selvedge')
    await refused(readFileSync(join(folder, 'identity.db')), 'not a backup of Selvedge')
    await refused(
      Buffer.from(whole.toString('latin1').replace('backup 1', 'backup 2'), 'latin1'),
      'use a later version',
    )
    await refused(
      withManifest(whole, (manifest) => ({ ...manifest, madeAt: Date.now() + 3_600_000 })),
      'Set the clock',
    )
    await refused(
      withManifest(whole, (manifest) => ({ ...manifest, service: 'discovery' })),
      '--service discovery',
    )
    await refused(
      withManifest(whole, (manifest) => ({ ...manifest, more: 1 })),
      'does not know',
    )
    await refused(withTables(files.path, file, 'PRAGMA user_version = 1000'), 'version 1000')
    await refused(withTables(files.path, file, 'CREATE TABLE other (one TEXT)'), 'other tables')
    await refused(withOtherKeys(whole), 'encrypted with other keys')
    identity = await startIdentity()
  })

  it('refuses to start where a restore was interrupted, and the same restore completes it', async () => {
    const file = join(files.path, 'interrupted')
    expect((await store(stack.state, 'backup', file)).code).toBe(0)
    await identity.stop()
    const folder = join(stack.state, 'identity')
    writeFileSync(join(folder, 'restore-unfinished'), '')
    rmSync(join(folder, 'identity.db'))
    await expect(startIdentity()).rejects.toMatchObject({
      code: 78,
      message: expect.stringContaining('was interrupted. Run "selvedge admin store restore"'),
    })
    expect(existsSync(join(folder, 'identity.db'))).toBe(false)
    expect((await store(stack.state, 'restore', file)).code).toBe(0)
    identity = await startIdentity()
    expect(await reasonFor(await accessToken(stack, developer))).toBe('accepted')
  })

  it('leaves no file of root in the folder of another user', needs('root'), async () => {
    const state = join(files.path, 'other-user')
    const file = join(files.path, 'for-other-user')
    expect((await store(stack.state, 'backup', file)).code).toBe(0)
    spawnSync('mkdir', ['-m', '700', state])
    chownSync(state, 12_345, 12_345)
    spawnSync('chmod', ['755', files.path])
    expect(await store(state, 'restore', file)).toMatchObject({ code: 0, errors: '' })
    expect(await store(state, 'backup', join(files.path, 'of-other-user'))).toMatchObject({ code: 0 })
    const owners = readdirSync(join(state, 'identity')).map(
      (name) => statSync(join(state, 'identity', name)).uid,
    )
    expect(new Set(owners)).toEqual(new Set([12_345]))
  })

  it('names the tool to use for PostgreSQL', async () => {
    const env = { ...envOf(stack.state), SELVEDGE_IDENTITY_STORE: 'postgres://127.0.0.1/none' }
    const { code, errors } = await runCli(['admin', 'store', 'backup', join(files.path, 'pg')], env)
    expect({ code, errors }).toEqual({ code: 1, errors: expect.stringContaining('pg_dump') })
  })

  it('notes a backup of PostgreSQL by another tool, and of its own only if there is a file', async () => {
    const note = join(stack.state, 'identity', 'last-backup')
    const env = { ...envOf(stack.state), SELVEDGE_IDENTITY_STORE: 'postgres://127.0.0.1/none' }
    // The command notes whole seconds.
    const begunAt = Math.floor(Date.now() / 1000) * 1000
    const { code, out } = await runCli(['admin', 'store', 'note-backup', '--json'], env)
    expect({ code, service: JSON.parse(out).service }).toEqual({ code: 0, service: 'identity' })
    const noted = readFileSync(note, 'utf8')
    expect(noted).toBe(`${JSON.parse(out).madeAt}\n`)
    expect(Date.parse(noted.trim())).toBeGreaterThanOrEqual(begunAt)
    // A link to nowhere is no file, and is found when the backup gets its name.
    symlinkSync(join(files.path, 'nowhere'), join(files.path, 'link'))
    const refused = await store(stack.state, 'backup', join(files.path, 'link'))
    expect(refused).toMatchObject({ code: 2, errors: expect.stringContaining('exists already') })
    expect(existsSync(join(files.path, 'nowhere'))).toBe(false)
    expect(readdirSync(files.path).filter((name) => name.includes('.draft'))).toEqual([])
    expect(readFileSync(note, 'utf8')).toBe(noted)
    const made = await store(stack.state, 'backup', join(files.path, 'noted'))
    expect(readFileSync(note, 'utf8')).toBe(`${JSON.parse(made.out).madeAt}\n`)
  })

  it('names the keys that are elsewhere', async () => {
    const keys = join(stack.state, 'identity', 'secret-keys')
    const file = join(files.path, 'without-keys')
    const env = { ...envOf(stack.state), SELVEDGE_IDENTITY_KEYS: readFileSync(keys, 'utf8') }
    const { out } = await runCli(['admin', 'store', 'backup', file], env)
    expect(out).toContain('NOT in the file')
    expect(readFileSync(file).includes(readFileSync(keys))).toBe(false)
    const empty = join(files.path, 'keyless')
    const aside = join(files.path, 'keys-aside')
    renameSync(keys, aside)
    const unaware = await store(stack.state, 'backup', join(files.path, 'unaware'))
    renameSync(aside, keys)
    expect(unaware).toMatchObject({ code: 1, errors: expect.stringContaining('set SELVEDGE_IDENTITY_KEYS') })
    expect(existsSync(join(files.path, 'unaware'))).toBe(false)
    expect(await store(empty, 'restore', file)).toMatchObject({
      code: 1,
      errors: expect.stringContaining('encrypted with other keys'),
    })
    expect(
      await runCli(['admin', 'store', 'restore', file], { ...env, SELVEDGE_STATE: empty }),
    ).toMatchObject({
      code: 0,
    })
  })
})

describe('the store of the discovery service', () => {
  it('is backed up while it runs, and restored beside the old one', async () => {
    const stack = await startStack()
    const developer = await createDeveloper(stack.state)
    const token = await accessToken(stack, developer)
    await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
    const file = join(stack.state, 'discovery.backup')
    const location = { longitude: '3', latitude: '4', speed: '0', bearing: '0' }
    const database = join(stack.state, 'discovery', 'locations.db')
    await expect
      .poll(async () => {
        const { status } = await runtimeOf(stack).updateGps({ edgeAccessToken: token, ...location })
        rmSync(file, { force: true })
        const made = await store(stack.state, 'backup', file, '--service', 'discovery')
        return {
          status,
          code: made.code,
          places: placesIn(stack.state, file),
        }
      })
      .toEqual({ status: 'ok', code: 0, places: [{ longitude: 3, latitude: 4 }] })
    expect(await store(stack.state, 'restore', file)).toMatchObject({
      code: 1,
      errors: expect.stringContaining('--service discovery'),
    })
    await stack.discovery.stop()
    writeFileSync(database, 'damaged')
    const restored = await store(stack.state, 'restore', file, '--service', 'discovery')
    const { previous } = JSON.parse(restored.out) as { previous: string[] }
    expect(readFileSync(previous[0]!, 'utf8')).toBe('damaged')
    const env = { SELVEDGE_STATE: stack.state, SELVEDGE_IDENTITY_URL: stack.identity.url }
    const discovery = await startProgram('discovery', {
      ...env,
      SELVEDGE_DISCOVERY_PORT: new URL(stack.discovery.url).port,
    })
    const listed = await runtimeOf(stack).getNodes({ edgeAccessToken: token, cluster: 'account' })
    expect(listed).toMatchObject({ stale: false, data: [{ fix: { longitude: 3, latitude: 4 } }] })
    await discovery.stop()
    await stack.stop()
  })
})

interface Parts {
  readonly manifest: { members: { name: string; bytes: number; sha256: string }[] } & Record<string, unknown>
  readonly rest: Buffer
}

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex')

function parts(whole: Buffer): Parts {
  const end = whole.indexOf('\n') + 1
  const length = Number(whole.toString('latin1', 0, end).split(' ')[3])
  return {
    manifest: JSON.parse(whole.toString('utf8', end, end + length)),
    rest: whole.subarray(end + length),
  }
}

function joinParts(manifest: object, rest: Buffer): Buffer {
  const text = Buffer.from(JSON.stringify(manifest))
  return Buffer.concat([Buffer.from(`selvedge backup 1 ${text.length} ${sha256(text)}\n`), text, rest])
}

function withManifest(whole: Buffer, change: (manifest: Parts['manifest']) => object): Buffer {
  const { manifest, rest } = parts(whole)
  return joinParts(change(manifest), rest)
}

/** A backup with a changed database, and sums that match. */
function withTables(folder: string, file: string, sql: string): Buffer {
  const { manifest, rest } = parts(readFileSync(file))
  const [database, keys] = manifest.members as [
    Parts['manifest']['members'][0],
    Parts['manifest']['members'][0],
  ]
  const path = join(folder, 'changed.db')
  writeFileSync(path, rest.subarray(0, database.bytes))
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const opened = new DatabaseSync(path)
  opened.exec(sql)
  opened.close()
  const changed = readFileSync(path)
  copyFileSync(path, `${path}.last`)
  const members = [{ ...database, bytes: changed.length, sha256: sha256(changed) }, keys]
  return joinParts({ ...manifest, members }, Buffer.concat([changed, rest.subarray(database.bytes)]))
}

/** Locations in a backup. */
function placesIn(folder: string, file: string): unknown[] {
  const path = join(folder, 'of-backup.db')
  writeFileSync(path, parts(readFileSync(file)).rest)
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const opened = new DatabaseSync(path)
  const rows = opened.prepare('SELECT longitude, latitude FROM last_locations').all()
  opened.close()
  return rows
}

function withOtherKeys(whole: Buffer): Buffer {
  const { manifest, rest } = parts(whole)
  const [database] = manifest.members as [Parts['manifest']['members'][0]]
  const other = Buffer.from(`${randomBytes(32).toString('base64url')}\n`)
  const members = [database, { name: 'secret-keys', bytes: other.length, sha256: sha256(other) }]
  return joinParts({ ...manifest, members }, Buffer.concat([rest.subarray(0, database.bytes), other]))
}
