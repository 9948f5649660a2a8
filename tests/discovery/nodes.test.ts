import { createDiscoveryClient, type OAuthFailure, type RpcFailure } from '@selvedge/client'
import { destination, distanceBetween, snap } from '@selvedge/geo'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice, type Device, fixAt } from '../harness/device.ts'
import { accessToken, createDeveloper, type Developer, runtimeOf } from '../harness/flow.ts'
import { type Program, type Stack, startProgram, startStack } from '../harness/processes.ts'

let stack: Stack
let own: Developer
let other: Developer
let token: string
const fleet: Device[] = []
const strangers: Device[] = []
const runtime = () => runtimeOf(stack)
const centre = { longitude: 179.9995, latitude: -16.8 }
const around = (bearing: number, metres: number) => destination(centre, bearing, metres)
const urls = () => ({ identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url })
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => 'accepted',
    (cause: RpcFailure | OAuthFailure) => `${cause.reason}: ${cause.message}`,
  )

beforeAll(async () => {
  stack = await startStack()
  own = await createDeveloper(stack.state)
  other = await createDeveloper(stack.state)
  token = await accessToken(stack, own)
  await runtime().associateAccount({ edgeAccessToken: token })
  for (let index = 0; index < 5; index++) fleet.push(await createDevice(urls(), own, `own ${index}`))
  for (let index = 0; index < 3; index++) strangers.push(await createDevice(urls(), other, `other ${index}`))
})
afterAll(() => stack.stop())

describe('proximity', () => {
  it('needs the place of the node that asks', async () => {
    expect(await refusal(runtime().getNodes({ edgeAccessToken: token, cluster: 'proximity' }))).toMatch(
      /^not_found: the location of this node is not known; report its location first/,
    )
  })

  it('gives the nearest first, across the antimeridian, nodes of others as far as they are shared', async () => {
    const at = {
      longitude: String(centre.longitude),
      latitude: String(centre.latitude),
      speed: '0',
      bearing: '0',
    }
    expect(await runtime().updateGps({ edgeAccessToken: token, ...at })).toEqual({ status: 'ok' })
    const report = (device: Device, bearing: number, metres: number) => {
      const { longitude, latitude } = around(bearing, metres)
      return device.report(fixAt(longitude, latitude, { speed: 3, accuracy: 4 }))
    }
    await fleet[0]!.begin({ addresses: ['10.0.0.7'], services: [{ name: 'camera', path: '/demo/camera' }] })
    for (const [index, metres] of [100, 900, 4000, 6000].entries()) await report(fleet[index]!, 90, metres)
    await strangers[0]!.begin({ sharing: { account: 'exact', others: 'exact' } })
    await strangers[1]!.begin({ sharing: { account: 'exact', others: '1km' } })
    for (const device of strangers) await report(device, 80, 500)
    const { data, type, source, stale, ageSeconds } = await runtime().getNodes({
      edgeAccessToken: token,
      cluster: 'proximity',
    })
    expect([type, source, stale, ageSeconds]).toEqual(['proximity', 'discovery', false, 0])
    const found = new Map(data.map((node) => [node.nodeId, node]))
    expect([...found.keys()].sort()).toEqual(
      [...fleet.slice(0, 3), strangers[0]!, strangers[1]!].map((each) => each.nodeId).sort(),
    )
    expect(data.map((node) => node.distance)).toEqual(
      data.map((node) => node.distance).sort((a, b) => a! - b!),
    )
    const nearest = found.get(fleet[0]!.nodeId)!
    expect(nearest).toMatchObject({
      name: 'own 0',
      accountId: own.accountId,
      state: 'online',
      addresses: ['10.0.0.7'],
      services: [{ name: 'camera', path: '/demo/camera' }],
      fix: { precision: 'exact', speed: 3, accuracy: 4, source: 'api', suspect: false },
    })
    expect(Math.abs(nearest.distance! - 100)).toBeLessThan(1)

    const exact = found.get(strangers[0]!.nodeId)!
    expect(exact).toMatchObject({ name: null, accountId: null, addresses: [], services: [], heardAt: null })
    expect(exact.fix).toMatchObject({
      speed: null,
      bearing: null,
      accuracy: null,
      receivedAt: null,
      source: null,
    })
    expect(Math.abs(exact.distance! - 500)).toBeLessThan(1)
    expect(new Date(exact.fix!.fixedAt).getTime() % 60_000).toBe(0)

    const snapped = snap('1km', around(80, 500))!
    const coarse = found.get(strangers[1]!.nodeId)!
    expect(coarse.fix!.longitude).toBeCloseTo(snapped.longitude, 6)
    expect(coarse.distance).toBeCloseTo(
      distanceBetween(centre.longitude, centre.latitude, snapped.longitude, snapped.latitude),
      0,
    )
  })

  it('keeps to radius and limit, and has a REST twin', async () => {
    const list = async (options: object) =>
      (await runtime().getNodes({ edgeAccessToken: token, cluster: 'proximity', options })).data.length
    expect([await list({ radius: 50 }), await list({ radius: 10_000 }), await list({ limit: 2 })]).toEqual([
      0, 6, 2,
    ])
    const get = (query: string, headers: Record<string, string> = { Authorization: `Bearer ${token}` }) =>
      fetch(`${stack.runtime.url}/mds/v1/nodes?${query}`, { headers })
    const twin = await (await get('clusters=proximity&radius=10000')).json()
    expect(twin).toMatchObject({ type: 'proximity', stale: false })
    expect((twin as { data: unknown[] }).data).toHaveLength(6)
    expect((await get('clusters=proximity&radius=100001')).status).toBe(400)
    expect((await get('clusters=moon')).status).toBe(400)
    expect((await get('clusters=account', {})).status).toBe(401)
    const narrow = await accessToken(stack, own, 'openid')
    expect((await get('clusters=account', { Authorization: `Bearer ${narrow}` })).status).toBe(403)
  })

  it.each([
    ['proximity', { radius: 100_001 }],
    ['proximity', { radius: 0 }],
    ['proximity', { limit: 101 }],
    ['proximity', { after: 'x' }],
    ['account', { radius: 5 }],
    ['account', { limit: 501 }],
    ['account', { after: 'x' }],
    ['account', { what: 1 }],
    ['moon', {}],
  ])('%s with %j is refused with the reason', async (cluster, options) => {
    expect(
      await refusal(
        runtime().getNodes({
          edgeAccessToken: token,
          cluster: cluster as 'account',
          options: options as object,
        }),
      ),
    ).toMatch(/^invalid_params: /)
  })
})

describe('account', () => {
  it('gives every node of the account in pages, those without a place too', async () => {
    await fleet[4]!.report([])
    const first = await runtime().getNodes({
      edgeAccessToken: token,
      cluster: 'account',
      options: { limit: 4 },
    })
    expect(first.data).toHaveLength(4)
    const rest = await runtime().getNodes({
      edgeAccessToken: token,
      cluster: 'account',
      options: { limit: 4, after: first.next! },
    })
    expect(rest.next).toBeNull()
    const { nodeId } = await runtime().getMe()
    const all = [...first.data, ...rest.data]
    expect(all.map((node) => node.nodeId).sort()).toEqual(
      [...fleet.map((each) => each.nodeId), nodeId].sort(),
    )
    expect(all.every((node) => node.state === 'online')).toBe(true)
    expect(all.find((node) => node.nodeId === fleet[4]!.nodeId)?.fix).toBeNull()
  })

  it('shows a place as exactly as its node says, there and to people', async () => {
    const device = fleet[3]!
    const place = around(90, 6000)
    const shown = async () =>
      (await fleet[0]!.account()).data.find((node) => node.nodeId === device.nodeId)!.fix
    await device.begin({ sharing: { account: 'city', others: 'none' } })
    const report = fixAt(place.longitude, place.latitude, { speed: 7 })
    await device.report(report)
    const city = snap('city', place)!
    expect(await shown()).toMatchObject({ precision: 'city', speed: null, accuracy: null })
    expect((await shown())!.latitude).toBeCloseTo(city.latitude, 6)
    expect(await device.last()).toMatchObject({ precision: 'city', speed: 0, bearing: 0 })
    await device.begin({ sharing: { account: 'none', others: 'none' } })
    await device.report(report)
    expect(await shown()).toBeNull()
    expect(await refusal(device.last())).toMatch(/^not_found: /)
    expect((await fleet[0]!.near({ radius: 10_000 })).map((node) => node.nodeId)).not.toContain(device.nodeId)
  })

  it('of another account returns nothing of this one', async () => {
    const seen = (await strangers[2]!.account()).data.map((node) => node.nodeId)
    expect(seen.sort()).toEqual(strangers.map((each) => each.nodeId).sort())
    const discovery = createDiscoveryClient({ url: stack.discovery.url })
    // The same, whether there is such a node or not.
    for (const nodeId of [fleet[0]!.nodeId, 'a'.repeat(56)])
      expect(await refusal(discovery.lastFix(nodeId, strangers[0]!.accessToken))).toMatch(
        /^insufficient_scope: the location of another node/,
      )
  })
})

describe('sharing and track', () => {
  it('are set and shown, and hold at the discovery service at once', async () => {
    expect(await runtime().getLocationSharing({ edgeAccessToken: token })).toEqual({
      account: 'exact',
      others: 'none',
      trackUntil: null,
    })
    const { nodeId } = await runtime().getMe()
    const seen = async () => (await strangers[0]!.near()).some((node) => node.nodeId === nodeId)
    expect(await seen()).toBe(false)
    expect(
      await runtime().setLocationSharing({ edgeAccessToken: token, audience: 'others', precision: '1km' }),
    ).toEqual({
      account: 'exact',
      others: '1km',
      status: 'ok',
    })
    expect(await seen()).toBe(true)
    await runtime().setLocationSharing({ edgeAccessToken: token, audience: 'others', precision: 'none' })
    expect(await seen()).toBe(false)
  })

  it('no track is kept unless it is asked for, with an end; and none is left when it is over', async () => {
    const updates = async (latitude: number) =>
      runtime().updateGps({
        edgeAccessToken: token,
        longitude: '10',
        latitude: String(latitude),
        speed: '0',
        bearing: '0',
      })
    const track = () => runtime().getLocationTrack({ edgeAccessToken: token })
    await updates(1)
    expect(await track()).toEqual({ data: [], next: null, until: null })
    const until = new Date(Date.now() + 86_400_000).toISOString()
    expect(await runtime().setLocationTrack({ edgeAccessToken: token, until })).toEqual({
      until,
      status: 'ok',
    })
    await updates(1.0001)
    await updates(1.0002)
    const kept = await track()
    expect(kept.until).toBe(until)
    expect(kept.data.map(([, latitude]) => latitude)).toEqual([1.0001, 1.0002])
    expect(kept.next).toBeNull()
    const newest = await runtime().getLocationTrack({ edgeAccessToken: token, options: { limit: 1 } })
    expect([newest.data, newest.next]).toEqual([[kept.data[1]], kept.data[1]![2]])
    const before = await runtime().getLocationTrack({
      edgeAccessToken: token,
      options: { limit: 1, before: newest.next! },
    })
    expect([before.data, before.next]).toEqual([[kept.data[0]], null])
    const { nodeId } = await runtime().getMe()
    expect((await fleet[0]!.track(nodeId)).data).toHaveLength(2)
    expect(await refusal(fleet[0]!.track(nodeId, { limit: 0 }))).toMatch(/^invalid_request: "limit"/)
    expect(await refusal(strangers[0]!.track(nodeId))).toMatch(/^not_found: /)
    await runtime().setLocationTrack({ edgeAccessToken: token, until: '' })
    expect(await track()).toEqual({ data: [], next: null, until: null })
    for (const wrong of ['tomorrow', new Date(Date.now() - 1000).toISOString(), '2199-01-01T00:00:00Z'])
      expect(await refusal(runtime().setLocationTrack({ edgeAccessToken: token, until: wrong }))).toMatch(
        /^invalid_params/,
      )
  })
})

describe('without the discovery service', () => {
  let again: Program | undefined
  afterAll(() => again?.stop())

  it('the last known copy is given and marked, after a restart too; what was never asked is refused', async () => {
    const ask = (cluster: 'account' | 'proximity', options: object = {}) =>
      runtimeOf({ runtime: again ?? stack.runtime }).getNodes({ edgeAccessToken: token, cluster, options })
    const fresh = { account: await ask('account'), proximity: await ask('proximity') }
    await stack.discovery.stop('SIGKILL')
    for (const restarted of [false, true]) {
      if (restarted) {
        await stack.runtime.stop()
        again = await startProgram('runtime', {
          SELVEDGE_STATE: stack.state,
          SELVEDGE_RUNTIME_PORT: '0',
          SELVEDGE_IDENTITY_URL: stack.identity.url,
          SELVEDGE_DISCOVERY_URL: stack.discovery.url,
        })
      }
      for (const cluster of ['account', 'proximity'] as const) {
        const known = await ask(cluster)
        expect(known).toMatchObject({
          stale: true,
          source: 'discovery',
          type: cluster,
          asOf: fresh[cluster].asOf,
        })
        expect(known.data.map((node) => node.nodeId)).toEqual(fresh[cluster].data.map((node) => node.nodeId))
      }
      const near = await ask('proximity', { radius: 3000, limit: 2 })
      const within = fresh.proximity.data.filter((node) => node.distance! <= 3000)
      expect([near.stale, near.data.map((node) => node.nodeId)]).toEqual([
        true,
        within.slice(0, 2).map((node) => node.nodeId),
      ])
      const page = await ask('account', { limit: 2 })
      expect(page.data.map((node) => node.nodeId)).toEqual(
        fresh.account.data.slice(0, 2).map((node) => node.nodeId),
      )
      expect(page.next).toBe(page.data[1]!.nodeId)
      expect(await refusal(ask('proximity', { radius: 10_001 }))).toMatch(/^discovery_unavailable: /)
      expect(await refusal(ask('account', { limit: 101 }))).toMatch(/^discovery_unavailable: /)
      expect(await refusal(ask('account', { after: page.next! }))).toMatch(/^discovery_unavailable: /)
    }
    const set = await runtimeOf({ runtime: again! }).setLocationSharing({
      edgeAccessToken: token,
      audience: 'others',
      precision: 'city',
    })
    expect(set).toMatchObject({ others: 'city', status: 'queued' })
  })
})
