/** A replica that cannot see what the others change decides nothing: it refuses, says so, and learns all of it afterwards. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { adminOf, createDeveloper } from '../../harness/flow.ts'
import { type FreezingProxy, startFreezingProxy } from '../../harness/freezing-proxy.ts'
import { needs } from '../../harness/installed.ts'
import { post } from '../../harness/oauth.ts'
import { createProgramClock, type ProgramClock } from '../../harness/program-clock.ts'
import { edgeTokenThrough, type Replicas, startReplicas } from '../../harness/replicas.ts'

const maxAgeSeconds = 2

describe('a replica that is cut from PostgreSQL', needs('postgres'), () => {
  let replicas: Replicas
  let proxy: FreezingProxy
  let edgeToken: string
  let clock: ProgramClock

  beforeAll(async () => {
    clock = await createProgramClock()
    replicas = await startReplicas(
      ['--limits.address=1000000', `--replicas.maxAge=${maxAgeSeconds}`],
      async (index, database) => {
        if (index === 0) return {}
        const url = new URL(database)
        proxy = await startFreezingProxy(Number(url.port))
        url.port = String(proxy.port)
        return { SELVEDGE_IDENTITY_STORE: url.href, ...clock.env }
      },
    )
    // Before the cut: the balancer knows both replicas.
    edgeToken = await edgeTokenThrough(replicas)
  })
  afterEach(() => proxy.thaw())
  afterAll(async () => {
    proxy.stop()
    await replicas.stop()
    await clock.remove()
  })

  const connected = () => replicas.all[0].url
  const cut = () => replicas.all[1].url

  const admin = () => adminOf(replicas.all[0].state)
  const newDeveloper = () => createDeveloper(replicas.all[0].state)
  const exchange = async (url: string, { clientId, idToken }: { clientId: string; idToken: string }) =>
    post(`${url}/token`, {
      grant_type: 'id_token_signin',
      client_id: clientId,
      id_token: idToken,
      edge_id_token: edgeToken,
      scope: 'openid edge:mcm',
    })
  const introspect = (url: string, { clientId, idToken }: { clientId: string; idToken: string }) =>
    post(`${url}/introspect`, { client_id: clientId, token: idToken })
  const health = async (url: string) => (await fetch(`${url}/healthz`)).status
  async function until(check: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 600; tries++) {
      if (await check()) return
      await pause(50)
    }
    throw new Error('it never came to be so')
  }

  it('refuses with 503 and Retry-After, fails its health check, and knows the revocation when it is back', async () => {
    const developer = await newDeveloper()
    for (const url of [connected(), cut()]) {
      expect((await exchange(url, developer)).status).toBe(200)
      expect((await introspect(url, developer)).body.active).toBe(true)
    }
    proxy.freeze()
    await admin()['token.developer.revoke']({ jti: developer.jti })
    await until(async () => (await introspect(cut(), developer)).status === 503)
    expect([await health(connected()), await health(cut())]).toEqual([200, 503])
    for (const answer of [await introspect(cut(), developer), await exchange(cut(), developer)]) {
      expect(answer.status).toBe(503)
      expect(answer.body.error).toBe('temporarily_unavailable')
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    proxy.thaw()
    await until(async () => (await health(cut())) === 200)
    expect((await introspect(cut(), developer)).body).toEqual({ active: false })
    expect((await exchange(cut(), developer)).status).toBe(400)
  })

  it('refuses its operator because of the database, and stores no token that it does not return', async () => {
    const { email, clientId } = await newDeveloper()
    const tokens = async () => (await admin()['token.developer.list']({})).length
    const before = await tokens()
    const operator = adminOf(replicas.all[1].state)
    proxy.freeze()
    await until(async () => (await health(cut())) === 503)
    const calls = [
      operator['keys.list']({}),
      operator['account.list']({}),
      operator['token.developer.create']({ email, clientId, days: null }),
    ]
    await Promise.all(
      calls.map((each) => expect(each).rejects.toMatchObject({ reason: 'storage_failed', retryable: true })),
    )
    proxy.thaw()
    await until(async () => (await health(cut())) === 200)
    expect(await tokens()).toBe(before)
  })

  it('that stood still longer than what it knows is valid reads before it does what its operator wants', async () => {
    const { email, clientId } = await newDeveloper()
    const replica = replicas.all[1]
    replica.process.kill('SIGSTOP')
    const made = adminOf(replica.state)['token.developer.create']({ email, clientId, days: null })
    await clock.pass(maxAgeSeconds * 1000 + 1000)
    replica.process.kill('SIGCONT')
    expect((await made).jti).toMatch(/^[\w-]{36}$/)
  })

  it('learns what it missed even if the notes of the changes are gone', async () => {
    const developers = [await newDeveloper(), await newDeveloper()]
    for (const each of developers) expect((await exchange(cut(), each)).status).toBe(200)
    proxy.freeze()
    await admin()['token.developer.revoke']({ jti: developers[0]!.jti })
    await admin()['project.disable']({ clientId: developers[1]!.clientId })
    await until(async () => (await introspect(cut(), developers[0]!)).status === 503)
    // Notes are removed after an hour; a machine that slept longer finds none.
    const database = new pg.Client(replicas.database)
    await database.connect()
    await database.query('DELETE FROM changes')
    await database.end()
    proxy.thaw()
    await until(async () => (await health(cut())) === 200)
    expect((await introspect(cut(), developers[0]!)).body).toEqual({ active: false })
    expect((await exchange(cut(), developers[0]!)).status).toBe(400)
    expect((await exchange(cut(), developers[1]!)).body.error).toBe('invalid_client')
  })
})
