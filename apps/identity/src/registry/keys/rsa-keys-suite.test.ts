/** Keys for RS256, on every store and with several replicas: made when a project wants them, agreed on, rotated, and used for nothing else. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type AppIdClaims, appIdProfile } from '@selvedge/protocol/tokens'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { createTokenVerifier } from '@selvedge/service-kit/tokens'
import * as jose from 'jose'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import { createProjects } from '../projects/projects.ts'
import { createFolding } from '../revocation/folding.ts'
import { openRevocations } from '../revocation/revocations.ts'
import { openSigningKeys } from './signing-keys.ts'
import { newKey } from './stored-keys.ts'

const issuer = 'https://identity.example'
const day = 86_400_000
const clock = createFakeClock()
const seal = createSeal([Buffer.alloc(32, 9)])

it('an RSA key is made in a thread: the event loop continues', async () => {
  let isMade = false
  const made = newKey('RS256', 'active', { seal, since: 0 }).then(() => {
    isMade = true
  })
  let turns = 0
  while (!isMade) {
    await nextTurn()
    turns++
  }
  await made
  expect(turns).toBeGreaterThan(10)
})

describeOnStores(
  'on %s',
  (makeDatabase) => {
    let url: string
    let store: SqlStore
    const ends: (() => Promise<void>)[] = []
    beforeEach(async () => {
      url = await makeDatabase()
      store = (await open()).store
      await store.run(sql`INSERT INTO accounts VALUES ('a', 'a@example.com', 0)`)
    })
    afterEach(async () => {
      for (const end of ends.splice(0)) await end()
    })

    /** A replica. */
    async function open() {
      const own = await openSql(url, migrations)
      const log = createMemoryLog()
      const changes = await openChanges({ store: own, clock, system: clock, log, maxAgeMs: 1e12 })
      ends.push(async () => {
        await changes.stop()
        await own.close()
      })
      const keys = await openSigningKeys({
        ...{ store: own, clock, changes, seal, rotateAfter: 30 * 86_400 },
        ...{ maxLifeSeconds: 366 * 86_400, publishedSeconds: 2 * 86_400 },
      })
      const folding = createFolding({
        store: own,
        clock,
        changes,
        log,
        bounds: { perAccount: 3, inAll: 100 },
      })
      const revocations = await openRevocations(own, clock, changes, 366 * 86_400, folding)
      const projects = createProjects({ store: own, clock, changes, revocations, keys, maxProjects: 10 })
      return { store: own, changes, keys, projects }
    }
    type Replica = Awaited<ReturnType<typeof open>>

    const claims = (): AppIdClaims => ({
      ...{
        iss: issuer,
        sub: 'person',
        aud: 'client',
        iat: clock.now() / 1000,
        exp: clock.now() / 1000 + 3600,
      },
      ...{ jti: 'j', account_id: 'a', email: 'ada@example.com', auth_time: 0, sid: 's', at_hash: 'h' },
    })
    const sign = ({ keys }: Replica) => keys.signAppId(claims(), 'RS256')
    const setOf = ({ keys }: Replica) => JSON.parse(keys.jwks) as jose.JSONWebKeySet
    const rsaOf = (replica: Replica) => setOf(replica).keys.filter(({ alg }) => alg === 'RS256')
    const verifyOutside = (token: string, replica: Replica) =>
      jose.jwtVerify(token, jose.createLocalJWKSet(setOf(replica)), {
        algorithms: ['RS256'],
        currentDate: new Date(clock.now()),
      })
    const verifyHere = (token: string, { keys }: Replica) =>
      createTokenVerifier({ issuers: () => [keys.asIssuer(issuer)], clock, remembered: 0 }).verifyEnded(
        token,
        appIdProfile,
        'client',
      )
    const project = { name: 'p', accountId: 'a', scopes: ['openid'], resources: [] }
    const rs256 = { idTokenSignedResponseAlg: 'RS256' } as const

    it('there is no key until a project wants one', async () => {
      const one = await open()
      const { clientId, idTokenSignedResponseAlg } = await one.projects.create(project)
      await one.projects.update(clientId, { idTokenSignedResponseAlg: 'ES256', origins: [] })
      await one.keys.rotate()
      expect([idTokenSignedResponseAlg, rsaOf(one)]).toEqual(['ES256', []])
      expect(() => sign(one)).toThrow('no active signing key for RS256')
    })

    it('replicas with projects that want one at once agree, and each verifies what the other signed', async () => {
      const replicas = await Promise.all([open(), open(), open()])
      const made = await Promise.all(
        replicas.flatMap(({ projects }) => [
          projects.create({ ...project, ...rs256 }),
          projects.create(project),
        ]),
      )
      const [one, other] = replicas as [Replica, Replica, Replica]
      await other.projects.update(made[1]!.clientId, rs256)
      for (const { changes } of replicas) await changes.commit([], [])
      expect(rsaOf(one)).toHaveLength(2)
      expect(setOf(other)).toEqual(setOf(one))
      expect(rsaOf(one)[0]).toEqual({
        ...{ kty: 'RSA', alg: 'RS256', use: 'sig', e: 'AQAB' },
        ...{
          kid: await jose.calculateJwkThumbprint(rsaOf(one)[0]!),
          n: expect.stringMatching(/^[\w-]{342}$/),
        },
      })
      const token = sign(one)
      expect(jose.decodeProtectedHeader(token)).toMatchObject({ alg: 'RS256', typ: 'app-id+jwt' })
      expect((await verifyOutside(token, other)).payload).toMatchObject({ sub: 'person' })
      expect(await verifyHere(token, other)).toMatchObject({ sub: 'person' })
    })

    it('is rotated with the others: the next was published, and the last is for as long as tokens live', async () => {
      const [one, other] = await Promise.all([open(), open()])
      await one.projects.create({ ...project, ...rs256 })
      const before = sign(one)
      const next = one.keys.list().find(({ alg, state }) => alg === 'RS256' && state === 'next')!.kid
      expect(rsaOf(one).map(({ kid }) => kid)).toContain(next)
      clock.advance(30 * day)
      await Promise.all([one.keys.rotateIfDue(), other.keys.rotateIfDue()])
      for (const { changes } of [one, other]) await changes.commit([], [])
      for (const replica of [one, other]) {
        expect(jose.decodeProtectedHeader(sign(replica)).kid).toBe(next)
        expect(rsaOf(replica)).toHaveLength(3)
        expect(await verifyHere(before, replica)).toMatchObject({ sub: 'person' })
      }
      const states = one.keys.list().map(({ alg, state }) => `${alg} ${state}`)
      expect(states.sort()).toEqual(
        ['active', 'next', 'retired'].flatMap((state) => [`ES256 ${state}`, `RS256 ${state}`]).sort(),
      )
      clock.advance(3 * day)
      expect(rsaOf(one)).toHaveLength(2)
      // A logout may come with an ID token that expired long ago.
      expect(await verifyHere(before, one)).toMatchObject({ sub: 'person' })
      clock.advance(366 * day)
      await one.keys.rotate()
      await expect(verifyHere(before, one)).rejects.toThrow('not one of its issuer')
    })

    it('is rotated when it is due, although the other algorithm is not yet', async () => {
      const one = await open()
      clock.advance(20 * day)
      await one.projects.create({ ...project, ...rs256 })
      const activeOf = (alg: string) =>
        one.keys.list().find((each) => each.alg === alg && each.state === 'active')!.kid
      const [ec, rsa] = [activeOf('ES256'), activeOf('RS256')]
      clock.advance(10 * day)
      await one.keys.rotateIfDue()
      expect([activeOf('ES256') === ec, activeOf('RS256') === rsa]).toEqual([false, true])
      clock.advance(20 * day)
      await one.keys.rotateIfDue()
      expect(activeOf('RS256')).not.toBe(rsa)
    })

    it('is made when a project changes to it, and stored encrypted', async () => {
      const { projects } = await open()
      await projects.update((await projects.create(project)).clientId, rs256)
      const rows = await store.run(sql`SELECT private_jwk FROM rsa_signing_keys`)
      expect(rows).toHaveLength(2)
      expect(rows.every(({ private_jwk }) => /^v1\.[\w-]+$/.test(private_jwk as string))).toBe(true)
    })

    it('the algorithm of a project stays when the version before changes it, and is removed with the project', async () => {
      const one = await open()
      const { clientId } = await one.projects.create({
        ...project,
        ...rs256,
        redirectUris: ['https://a.example/'],
      })
      // What the version before writes at a change.
      await store.run(sql`DELETE FROM project_apps WHERE client_id = ${clientId}`)
      await store.run(
        sql`INSERT INTO project_apps VALUES (${clientId}, 'native', 'anyone', '[]', '[]', '[]')`,
      )
      expect(await (await open()).projects.find(clientId)).toMatchObject({ appType: 'native', ...rs256 })
      const es256 = { idTokenSignedResponseAlg: 'ES256' } as const
      expect(await one.projects.update(clientId, es256)).toMatchObject(es256)
      await one.projects.update(clientId, rs256)
      await one.projects.remove(clientId)
      expect(await store.run(sql`SELECT * FROM project_id_tokens`)).toEqual([])
    })
  },
  migrations,
)
