import type { OAuthFailure } from '@selvedge/client'
import { discoveryPaths, type FixInput } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice, type Device } from '../harness/device.ts'
import { createDeveloper } from '../harness/flow.ts'
import { type Stack, startStack } from '../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../harness/program-clock.ts'

let clock: ProgramClock
let stack: Stack
let device: Device
const urls = () => ({ identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url })

beforeAll(async () => {
  clock = await createProgramClock()
  stack = await startStack({ discovery: ['--limits.address=200'], env: clock.env })
  device = await createDevice(urls(), await createDeveloper(stack.state))
})
afterAll(async () => {
  await stack.stop()
  await clock.remove()
})

const fix = (more: Partial<FixInput> = {}): FixInput => ({
  longitude: 1,
  latitude: 2,
  speed: 3,
  bearing: 4,
  fixedAt: Date.now(),
  ...more,
})
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => 'accepted',
    (cause: OAuthFailure) => `${cause.reason}: ${cause.message}`,
  )

describe('a report', () => {
  it('may be one fix or several; the latest by its own time wins, in whatever order they come', async () => {
    const now = Date.now()
    expect(await device.report(fix({ fixedAt: now - 5000, speed: 5 }))).toEqual({
      accepted: 1,
      newest: now - 5000,
    })
    const batch = [3000, 1000, 4000].map((age) => fix({ fixedAt: now - age, speed: age }))
    expect(await device.report(batch)).toEqual({ accepted: 3, newest: now - 1000 })
    expect(await device.report(fix({ fixedAt: now - 2000, speed: 2 }))).toEqual({
      accepted: 0,
      newest: now - 1000,
    })
    expect(await device.report(batch)).toEqual({ accepted: 0, newest: now - 1000 })
    const last = await device.last()
    expect(last).toMatchObject({
      nodeId: device.nodeId,
      speed: 1000,
      fixedAt: new Date(now - 1000).toISOString(),
      nodeName: 'device',
    })
    expect(last.ageSeconds).toBeGreaterThanOrEqual(1)
  })

  it('keeps a centimetre', async () => {
    await device.report(fix({ longitude: -179.9999999, latitude: 89.9999999 }))
    expect(await device.last()).toMatchObject({ longitude: -179.9999999, latitude: 89.9999999 })
  })

  it('from the future is refused, since it would hide every later one', async () => {
    expect(await refusal(device.report(fix({ fixedAt: Date.now() + 120_000 })))).toMatch(
      /^invalid_request: a fix of .* is in the future/,
    )
  })

  it.each([
    ['nothing', {}],
    ['an unknown source', { ...fix(), source: 'guess' }],
    ['a negative accuracy', fix({ accuracy: -1 })],
    ['101 fixes', Array.from({ length: 101 }, () => fix())],
    ['a longitude out of range', fix({ longitude: 181 })],
    ['text for a number', { ...fix(), latitude: '2' }],
    ['a field too many', { ...fix(), nodeId: 'x' }],
    ['a time that is no integer', fix({ fixedAt: 1.5 })],
  ])('of %s is refused', async (_, fixes) => {
    expect(await refusal(device.report(fixes as FixInput))).toMatch(
      /^invalid_request: the body is neither a fix/,
    )
  })

  it('without a fix is a keep-alive', async () => {
    expect(await device.report([])).toEqual({ accepted: 0, newest: -1 })
  })

  it('that is impossible is kept and marked', async () => {
    const now = Date.now()
    const other = await createDevice(urls(), await createDeveloper(stack.state))
    await other.report(fix({ longitude: 0, latitude: 0, fixedAt: now - 1000 }))
    await other.report(fix({ longitude: 90, latitude: 0, fixedAt: now, accuracy: 12.5, source: 'gpsd' }))
    expect(await other.last()).toMatchObject({ longitude: 90, suspect: true, accuracy: 12.5, source: 'gpsd' })
  })
})

describe('a session', () => {
  it('does not begin with the edge ID token that any local program can get', async () => {
    expect(await refusal(device.begin({}, await device.tenantToken()))).toMatch(
      /^invalid_token: .*not meant for urn:selvedge:discovery/,
    )
  })

  it('does not begin with a statement that the proof does not cover: an attacker on the network replaced the key', async () => {
    expect(await refusal(device.begin({}, undefined, '{}'))).toBe(
      'invalid_dpop_proof: the proof is for another body',
    )
  })

  it.each([
    ['a key that is none', { key: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } }],
    ['a precision that there is not', { sharing: { account: 'exact', others: '10m' } }],
    ['a track for a year', { trackUntil: Date.now() + 366 * 86_400_000 }],
    ['17 addresses', { addresses: Array(17).fill('10.0.0.1') }],
    ['a field too many', { nodeId: 'x' }],
  ])('is not begun with %s', async (_, more) => {
    expect(await refusal(device.begin(more as never))).toMatch(/^invalid_(request|dpop_proof):/)
  })

  const send = async (authorization: string, body: string, path: string = discoveryPaths.fixes) => {
    const headers = { 'Content-Type': 'application/json', Authorization: authorization }
    const response = await fetch(stack.discovery.url + path, { method: 'POST', headers, body })
    return `${response.status} ${((await response.json()) as { error_description?: string }).error_description ?? 'ok'}`
  }
  const body = () => JSON.stringify([fix()])

  it('accepts its requests, and no request that was made from them', async () => {
    const authorize = await device.begin()
    const good = body()
    const signed = authorize('POST', discoveryPaths.fixes, good)
    expect(await send(signed, good)).toBe('200 ok')
    const [ticket = '', at = '', mac = ''] = signed.split('.')
    const moved = JSON.stringify([fix({ longitude: 50 })])
    const other = (await (await createDevice(urls(), await createDeveloper(stack.state))).begin())(
      'POST',
      discoveryPaths.fixes,
      good,
    )
    for (const [what, authorization, sent] of [
      ['another body', signed, moved],
      ['another time', `${ticket}.${Number(at) + 1}.${mac}`, good],
      ['another path', authorize('POST', '/v1/other', good), good],
      ['another method', authorize('GET', discoveryPaths.fixes, good), good],
      ['an empty signature', `${ticket}.${at}.A`, good],
      ['the signature of another session', `${ticket}.${other.split('.').slice(1).join('.')}`, good],
    ] as const) {
      expect(await send(authorization, sent), what).toMatch(
        /^401 the request is not signed with the key of its session/,
      )
    }
    for (const authorization of ['', 'Bearer x', 'Session ', `Session x.${at}.${mac}`, 'Session x.1.'])
      expect(await send(authorization, good)).toMatch(
        /^401 (send "Authorization: Session …"|the request is not signed)/,
      )
  })

  it('expires: a signature is not valid an hour later', async () => {
    const authorize = await device.begin()
    const good = body()
    const now = performance.now
    performance.now = () => now.call(performance) + 3_600_000
    const signed = authorize('POST', discoveryPaths.fixes, good)
    performance.now = now
    expect(await send(signed, good)).toMatch(/^401 the request is of another time/)
  })

  it('is begun so often from one address, and no more: a proof costs more to check than to make up', async () => {
    const begin = () =>
      fetch(`${stack.discovery.url}/v1/sessions`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: '{}',
      })
    let refused: Response[] = []
    // A busy service refuses some before it counts them.
    for (let round = 0; round < 20 && refused.length === 0; round++) {
      const answers = await Promise.all(Array.from({ length: 210 }, begin))
      refused = answers.filter(({ status }) => status === 429)
    }
    expect(refused.length).toBeGreaterThan(0)
    expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0)
    // Requests of a session still work.
    await clock.pass(1100)
    expect(await device.report(fix({ fixedAt: Date.now() }), await device.begin())).toMatchObject({
      accepted: 1,
    })
  })

  it('goes on after a restart of the service, which keeps none', async () => {
    const authorize = await device.begin()
    const port = new URL(stack.discovery.url).port
    await stack.discovery.stop()
    const { startProgram } = await import('../harness/processes.ts')
    const again = await startProgram('discovery', {
      SELVEDGE_STATE: stack.state,
      SELVEDGE_DISCOVERY_PORT: port,
      SELVEDGE_IDENTITY_URL: stack.identity.url,
    })
    try {
      expect(await device.report(fix({ fixedAt: Date.now() }), authorize)).toMatchObject({ accepted: 1 })
    } finally {
      await again.stop()
    }
  })
})
