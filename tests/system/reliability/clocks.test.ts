/**
 * Clocks that are wrong, jump and come back, in each daemon: nothing is accepted that should not be, nothing is lost, and all of
 * it works again without a restart. Each clock is set from outside while the program runs.
 */
import { identityPaths } from '@selvedge/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  accessToken,
  adminOf,
  allScopes,
  createDeveloper,
  createProject,
  type Developer,
  runtimeOf,
} from '../../harness/flow.ts'
import { post } from '../../harness/oauth.ts'
import {
  freePorts,
  type Program,
  startProgram,
  startStack,
  temporaryFolder,
} from '../../harness/processes.ts'
import { createProgramClock, days, type ProgramClock, years } from '../../harness/program-clock.ts'

const jumps = [
  ['a day ahead', days(1)],
  ['a day behind', -days(1)],
  ['ten years ahead', years(10)],
  ['ten years behind', -years(10)],
] as const

/** Seconds. A device uses an edge ID token that was issued at a wrong time until a minute before its end. */
const edgeLifetime = 65

const place = { longitude: '1', latitude: '2', speed: '0', bearing: '0' }

interface Setup {
  readonly state: string
  readonly clocks: Readonly<Record<'runtime' | 'identity' | 'discovery', ProgramClock>>
  readonly identity: Program
  readonly discovery: Program
  runtime: Program
  startRuntime(): Promise<Program>
  stop(): Promise<void>
}

/** The three programs, each with a clock of its own. */
async function start(): Promise<Setup> {
  const folder = await temporaryFolder()
  const clocks = {
    runtime: await createProgramClock(),
    identity: await createProgramClock(),
    discovery: await createProgramClock(),
  }
  const env = { SELVEDGE_STATE: folder.path, ...freePorts }
  const identity = await startProgram('identity', { ...env, ...clocks.identity.env }, [
    '--keys.rotateAfter=86400',
    `--lifetime.edge=${edgeLifetime}`,
  ])
  const urls = { SELVEDGE_IDENTITY_URL: identity.url }
  const discovery = await startProgram('discovery', { ...env, ...urls, ...clocks.discovery.env })
  const startRuntime = () =>
    startProgram(
      'runtime',
      { ...env, ...urls, SELVEDGE_DISCOVERY_URL: discovery.url, ...clocks.runtime.env },
      ['--revocations.interval=1'],
    )
  const setup = {
    state: folder.path,
    clocks,
    identity,
    discovery,
    runtime: await startRuntime(),
    startRuntime,
    async stop() {
      for (const each of [setup.runtime, discovery, identity]) await each.stop()
      for (const each of Object.values(clocks)) await each.remove()
      await folder.remove()
    },
  }
  return setup
}

describe('with clocks of their own', () => {
  let setup: Setup
  let developer: Developer
  beforeAll(async () => {
    setup = await start()
    developer = await createDeveloper(setup.state)
  })
  afterEach(async () => {
    for (const each of Object.values(setup.clocks)) await each.set(0)
  })
  afterAll(() => setup.stop())

  const api = () => runtimeOf(setup)
  const token = () => accessToken(setup, developer)
  const timeState = async () => (await api().getMe()).time
  const introspect = async (text: string) =>
    (await post(`${setup.identity.url}/introspect`, { token: text, client_id: developer.clientId })).body
      .active

  /** Everything that the runtime does with tokens and times. */
  async function useRuntime(): Promise<void> {
    const edgeAccessToken = await token()
    const runtime = api()
    expect(await runtime.associateAccount({ edgeAccessToken })).toEqual({ accountId: developer.accountId })
    const { nodeId } = await runtime.getMe()
    expect(['ok', 'queued']).toContain((await runtime.updateGps({ edgeAccessToken, ...place })).status)
    expect((await runtime.getGps({ edgeAccessToken })).longitude).toBe('1')
    const code = {
      edgeAccessToken,
      expiry: String(Math.floor(Date.now() / 1000) + 600),
      nodeId,
      uri: 'https://x.example/',
    }
    await runtime.getEdgeHmacCode(code as never)
    await runtime.getNodes({ edgeAccessToken, cluster: 'account' } as never)
  }

  it.each(jumps)('a runtime whose clock jumps %s goes on, there and after it is back', async (_, by) => {
    await useRuntime()
    const before = await token()
    await setup.clocks.runtime.set(by)
    expect(((await timeState()) as { state: string }).state).toBe('trusted')
    await useRuntime()
    // A token from before the jump, and no client gets the wrong time.
    await api().getGps({ edgeAccessToken: before })
    expect(Math.abs(Date.parse(((await timeState()) as { now: string }).now) - Date.now())).toBeLessThan(
      10_000,
    )
    await setup.clocks.runtime.set(0)
    await useRuntime()
    await api().getGps({ edgeAccessToken: before })
  })

  it.each(jumps)(
    'an identity service whose clock jumps %s and back revokes nothing by itself, and forgets no revocation and no key',
    async (_, by) => {
      const [kept, revoked] = [await token(), await token()]
      await post(`${setup.identity.url}/revoke`, { token: revoked, client_id: developer.clientId })
      const other = await createDeveloper(setup.state)
      await setup.clocks.identity.set(by)
      // Work at the wrong time, each of which cleans up.
      const project = await createDeveloper(setup.state)
      await adminOf(setup.state)['token.developer.revoke']({ jti: project.jti })
      // A verifier fetches keys three times in a row; a fourth rotation within seconds would have to wait.
      if (by < 0) await adminOf(setup.state)['keys.rotate']()
      await setup.clocks.identity.set(0)
      expect([await introspect(kept), await introspect(revoked)]).toEqual([true, false])
      expect(
        (await post(`${setup.identity.url}/introspect`, { token: other.idToken, client_id: other.clientId }))
          .body.active,
      ).toBe(true)
      expect(
        (
          await post(`${setup.identity.url}/introspect`, {
            token: project.idToken,
            client_id: project.clientId,
          })
        ).body.active,
      ).toBe(false)
      // The runtime may have asked for an edge ID token in the meantime.
      await expect.poll(() => useRuntime().then(() => 'works', String)).toBe('works')
      expect((await fetch(`${setup.identity.url}/healthz`)).status).toBe(200)
    },
  )

  /** Latitudes of the track; undefined while the discovery service does not answer. */
  const trackOf = async (edgeAccessToken: string) =>
    api()
      .getLocationTrack({ edgeAccessToken })
      .then(
        ({ data }) => data.map(([, latitude]) => latitude),
        () => undefined,
      )

  it.each(jumps)(
    'a discovery service whose clock jumps %s and back takes locations again, and its tracks go on',
    async (_, by) => {
      await useRuntime()
      const edgeAccessToken = await token()
      const until = new Date(Date.now() + 3_600_000).toISOString()
      await api().setLocationTrack({ edgeAccessToken, until })
      const move = async (latitude: string) => api().updateGps({ edgeAccessToken, ...place, latitude })
      await move('3.1')
      await expect.poll(() => trackOf(edgeAccessToken)).toContain(3.1)
      await setup.clocks.discovery.set(by)
      await move('3.2')
      await setup.clocks.discovery.set(0)
      await expect.poll(async () => (await move('3.3')).status).toBe('ok')
      await expect.poll(() => trackOf(edgeAccessToken)).toEqual(expect.arrayContaining([3.1, 3.2, 3.3]))
      await api().setLocationTrack({ edgeAccessToken, until: '' })
    },
  )

  it('a track is there after identity, discovery and device believed a time after its end for a while', async () => {
    await useRuntime()
    const edgeAccessToken = await token()
    const until = new Date(Date.now() + 3_600_000).toISOString()
    await api().setLocationTrack({ edgeAccessToken, until })
    await api().updateGps({ edgeAccessToken, ...place, latitude: '4.1' })
    await expect.poll(() => trackOf(edgeAccessToken)).toContain(4.1)
    await setup.runtime.stop()
    for (const each of Object.values(setup.clocks)) await each.set(days(2))
    setup.runtime = await setup.startRuntime()
    // A session in which the device says until when a track is stored.
    await expect
      .poll(async () => (await api().updateGps({ edgeAccessToken: await token(), ...place })).status)
      .toBe('ok')
    await setup.runtime.stop()
    for (const each of Object.values(setup.clocks)) await each.set(0)
    setup.runtime = await setup.startRuntime()
    await expect.poll(async () => trackOf(await token())).toContain(4.1)
  })

  it('a device that was misled by its identity service once comes back when the service is right', async () => {
    const good = await token()
    await api().getGps({ edgeAccessToken: good })
    await setup.runtime.stop()
    await setup.clocks.identity.set(days(2))
    setup.runtime = await setup.startRuntime()
    const now = async () => Date.parse(((await timeState()) as { now: string }).now) - Date.now()
    await expect.poll(now).toBeGreaterThan(days(1))
    await setup.runtime.stop()
    // Offline it stays there: nothing but the service may take it back.
    await setup.clocks.identity.set(0)
    setup.runtime = await setup.startRuntime()
    await expect.poll(now).toBeLessThan(60_000)
    await api().getGps({ edgeAccessToken: await token() })
  })
})

it('identity and discovery services that start in 1970 work when their clock is right, without a restart', async () => {
  const clocks = {
    identity: await createProgramClock(-Date.now()),
    discovery: await createProgramClock(-Date.now()),
  }
  const stack = await startStack({
    identity: [`--lifetime.edge=${edgeLifetime}`],
    envOf: { identity: clocks.identity.env, discovery: clocks.discovery.env },
  })
  const isHealthy = async ({ url }: Program) => (await fetch(`${url}/healthz`)).status === 200
  const keysOf = async () => {
    const { keys } = (await (await fetch(stack.identity.url + identityPaths.jwks)).json()) as {
      keys: { kid: string }[]
    }
    return keys.map(({ kid }) => kid)
  }
  expect([await isHealthy(stack.identity), await isHealthy(stack.discovery)]).toEqual([true, true])
  const { accountId, email } = await createDeveloper(stack.state)
  const keys = await keysOf()
  for (const each of Object.values(clocks)) await each.set(0)
  expect([await isHealthy(stack.identity), await isHealthy(stack.discovery)]).toEqual([true, true])
  const accounts = await adminOf(stack.state)['account.list']()
  expect(accounts.map((each) => each.email)).toContain(email)
  // What was made then is there, and what is made now is accepted.
  const developer = { ...(await createProject(stack.state, email)), accountId, email }
  const exchange = () => accessToken(stack, developer).catch(() => '')
  await expect.poll(exchange).not.toBe('')
  const edgeAccessToken = await accessToken(stack, developer)
  await runtimeOf(stack).associateAccount({ edgeAccessToken })
  await expect
    .poll(async () => (await runtimeOf(stack).updateGps({ edgeAccessToken, ...place })).status)
    .toBe('ok')
  expect(await keysOf()).toEqual(expect.arrayContaining(keys))
  await stack.stop()
  for (const each of Object.values(clocks)) await each.remove()
})

it('a runtime that starts in 1970 without a network works, and knows the time when its identity service answers', async () => {
  const clock = await createProgramClock(-Date.now())
  const stack = await startStack()
  const folder = await temporaryFolder()
  const env = { SELVEDGE_STATE: folder.path, SELVEDGE_RUNTIME_PORT: '0', ...clock.env }
  const alone = await startProgram('runtime', { ...env, SELVEDGE_IDENTITY_URL: 'http://127.0.0.1:1' })
  const shown = (await runtimeOf({ runtime: alone }).getMe()).time as { state: string; now: string }
  expect(shown.now).toMatch(/^1970-/)
  await alone.stop()
  const online = await startProgram('runtime', { ...env, SELVEDGE_IDENTITY_URL: stack.identity.url })
  const setup = { runtime: online, identity: stack.identity, state: stack.state }
  const developer = await createDeveloper(stack.state)
  const edgeAccessToken = await accessToken(setup as never, developer, allScopes)
  await runtimeOf(setup).associateAccount({ edgeAccessToken })
  expect((await runtimeOf(setup).getMe()).time).toMatchObject({ state: 'trusted' })
  await online.stop()
  await stack.stop()
  await folder.remove()
  await clock.remove()
})
