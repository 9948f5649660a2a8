/** Two identity services on one PostgreSQL: what is made on one is good on the other, and one may die. */
import { setTimeout as pause } from 'node:timers/promises'
import * as jose from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, projectWith } from '../../harness/console.ts'
import { adminOf, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { post } from '../../harness/oauth.ts'
import { type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'
import { type Replicas, startReplicas } from '../../harness/replicas.ts'

describe('two replicas', needs('postgres'), () => {
  let replicas: Replicas
  let runtime: Program
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let owner: ConsoleSession
  let developer: { clientId: string; idToken: string }

  beforeAll(async () => {
    replicas = await startReplicas(['--limits.address=1000000'])
    folder = await temporaryFolder()
    runtime = await startProgram(
      'runtime',
      { SELVEDGE_STATE: folder.path, SELVEDGE_RUNTIME_PORT: '0', SELVEDGE_IDENTITY_URL: replicas.url },
      ['--revocations.interval=1'],
    )
    const admin = adminOf(replicas.all[0].state)
    await admin['account.create']({ email: 'ada@example.com' })
    const { link } = await admin['account.link']({ email: 'ada@example.com' })
    // The console is at the balancer: each call may go to another replica.
    owner = await enterByLink(replicas.url, link, 'ada@example.com')
    const { clientId } = await owner.api['project.create'](projectWith({}))
    developer = { clientId, idToken: (await owner.api['token.create']({ clientId })).idToken }
  })
  afterAll(async () => {
    await runtime.stop()
    await folder.remove()
    await replicas.stop()
  })

  const exchange = async (url: string, scope = 'openid edge:account:associate offline_access') =>
    post(`${url}/token`, {
      grant_type: 'id_token_signin',
      client_id: developer.clientId,
      id_token: developer.idToken,
      edge_id_token: (await runtimeOf({ runtime }).getEdgeIdToken()).id_token,
      scope,
    })
  /** Milliseconds until something is so. */
  async function until(check: () => Promise<boolean>): Promise<number> {
    const begun = performance.now()
    while (!(await check())) {
      if (performance.now() - begun > 15_000) throw new Error('it never came to be so')
      await pause(20)
    }
    return Math.round(performance.now() - begun)
  }
  const one = () => replicas.all[0].url
  const other = () => replicas.all[1].url

  it('sign with the same keys from the first moment, though they started together', async () => {
    const sets = await Promise.all([one(), other()].map(async (url) => (await fetch(`${url}/jwks`)).text()))
    expect(sets[0]).toBe(sets[1])
  })

  it('take a code that was made on the other', async () => {
    const begun = (
      await post(`${one()}/device_authorization`, {
        client_id: 'selvedge-cli',
        scope: 'openid offline_access',
      })
    ).body
    await owner.api['device_request.decide']({ userCode: begun.user_code!, approve: true })
    const form = {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'selvedge-cli',
      device_code: begun.device_code!,
    }
    expect((await post(`${other()}/token`, form)).body.refresh_token).toEqual(expect.any(String))
  })

  it('rotate one refresh token to one successor, whichever is asked, and all at once', async () => {
    const { refresh_token: token } = (await exchange(one())).body
    const form = { grant_type: 'refresh_token', client_id: developer.clientId, refresh_token: token! }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => post(`${at % 2 ? one() : other()}/token`, form)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1)
  })

  it('serve a key that was rotated on the other within two seconds', async () => {
    await adminOf(replicas.all[0].state)['keys.rotate']()
    const active = jose.decodeProtectedHeader((await exchange(one())).body.access_token!).kid
    const took = await until(
      async () => jose.decodeProtectedHeader((await exchange(other())).body.access_token!).kid === active,
    )
    console.info(`a key rotated on one replica signs on the other after ${took} ms`)
    expect(took).toBeLessThan(2000)
  })

  it('know within two seconds what was revoked on the other', async () => {
    const { access_token: token } = (await exchange(one())).body
    const isActive = async (url: string) =>
      (await post(`${url}/introspect`, { token: token!, client_id: developer.clientId })).body.active
    expect(await isActive(other())).toBe(true)
    await post(`${one()}/revoke`, { token: token!, client_id: developer.clientId })
    const took = await until(async () => !(await isActive(other())))
    console.info(`a token revoked on one replica is inactive on the other after ${took} ms`)
    expect(took).toBeLessThan(2000)
  })

  it('know within two seconds what was changed on the other', async () => {
    const { clientId } = await owner.api['project.create'](projectWith({ name: 'shared' }))
    const ask = (url: string) =>
      post(`${url}/device_authorization`, { client_id: clientId, scope: 'edge:mcm' })
    for (const url of [one(), other()]) expect((await ask(url)).status).toBe(200)
    await adminOf(replicas.all[0].state)['project.disable']({ clientId })
    expect(await until(async () => (await ask(other())).body.error === 'invalid_client')).toBeLessThan(2000)
  })

  it('can’t be started with another key for the secrets, or with none', async () => {
    const own = await temporaryFolder()
    const env = {
      SELVEDGE_STATE: own.path,
      SELVEDGE_IDENTITY_PORT: '0',
      SELVEDGE_IDENTITY_STORE: replicas.database,
    }
    await expect(startProgram('identity', env)).rejects.toThrow(/all replicas need the same one/)
    const wrong = Buffer.alloc(32, 1).toString('base64url')
    await expect(startProgram('identity', { ...env, SELVEDGE_IDENTITY_KEYS: wrong })).rejects.toThrow(
      /can't be decrypted/,
    )
    await own.remove()
  })

  // The last one: a replica dies.
  it('lose nothing that was acknowledged when one is killed under load, and clients go on with the other', async () => {
    const [first, second] = replicas.all
    const acknowledged = {
      refreshes: new Map<number, string>(),
      accounts: [] as string[],
      revoked: [] as string[],
    }
    const counts = { ok: 0, retried: 0, refused: 0 }
    const { id_token: edge } = await runtimeOf({ runtime }).getEdgeIdToken()
    let stop = false

    /** Asks until there is an answer, as a client does; what was acknowledged once must be so for ever. */
    async function ask(path: string, form: Record<string, string>) {
      for (;;) {
        try {
          const answer = await post(replicas.url + path, form)
          if (answer.status < 500) return answer
        } catch {
          // The connection died with its replica.
        }
        counts.retried++
        await pause(20)
      }
    }
    async function client(id: number): Promise<void> {
      const begin = await ask('/token', {
        grant_type: 'id_token_signin',
        client_id: developer.clientId,
        id_token: developer.idToken,
        edge_id_token: edge,
        scope: 'openid offline_access',
      })
      let token = begin.body.refresh_token!
      acknowledged.refreshes.set(id, token)
      while (!stop) {
        const answer = await ask('/token', {
          grant_type: 'refresh_token',
          client_id: developer.clientId,
          refresh_token: token,
        })
        if (answer.status !== 200) {
          counts.refused++
          return
        }
        counts.ok++
        token = answer.body.refresh_token!
        acknowledged.refreshes.set(id, token)
        if (counts.ok % 7 === 0) {
          const access = answer.body.access_token!
          const { status } = await ask('/revoke', { token: access, client_id: developer.clientId })
          if (status === 200) acknowledged.revoked.push(access)
        }
      }
    }
    async function operator(): Promise<void> {
      for (let at = 0; !stop; at++) {
        const state = at % 2 ? first.state : second.state
        const email = `load${at}@example.com`
        const made = await adminOf(state)
          ['account.create']({ email })
          .catch(() => undefined)
        if (made) acknowledged.accounts.push(email)
        await pause(10)
      }
    }
    const work = [...Array.from({ length: 12 }, (_, id) => client(id)), operator()]
    await expect.poll(() => counts.ok).toBeGreaterThan(100)
    const before = counts.ok
    await first.stop('SIGKILL')
    await expect.poll(() => counts.ok).toBeGreaterThan(before + 100)
    stop = true
    await Promise.all(work)
    expect(counts.refused).toBe(0)

    const accounts = new Set((await adminOf(second.state)['account.list']()).map(({ email }) => email))
    const lost = {
      accounts: acknowledged.accounts.filter((email) => !accounts.has(email)).length,
      refreshes: 0,
      revocations: 0,
    }
    for (const token of acknowledged.refreshes.values()) {
      const { status } = await post(`${second.url}/token`, {
        grant_type: 'refresh_token',
        client_id: developer.clientId,
        refresh_token: token,
      })
      if (status !== 200) lost.refreshes++
    }
    for (const token of acknowledged.revoked) {
      const { body } = await post(`${second.url}/introspect`, { token, client_id: developer.clientId })
      if (body.active) lost.revocations++
    }
    console.info(
      `a replica killed under load: ${counts.ok} refreshes (${counts.ok - before} after the kill, ${counts.retried} tries again), ` +
        `${acknowledged.accounts.length} accounts, ${acknowledged.revoked.length} revocations acknowledged; lost ${JSON.stringify(lost)}`,
    )
    expect(lost).toEqual({ accounts: 0, refreshes: 0, revocations: 0 })
  })
})
