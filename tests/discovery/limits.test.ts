/** What an account may store at the discovery service, and what of it is left when a device changes hands. */
import { createIdentityClient, type OAuthFailure } from '@selvedge/client'
import { discoveryAudience } from '@selvedge/protocol/tokens'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice, type Device, fixAt } from '../harness/device.ts'
import { createDeveloper, type Developer } from '../harness/flow.ts'
import { type Stack, startStack } from '../harness/processes.ts'

let stack: Stack
let developer: Developer
const most = 70
const urls = () => ({ identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url })
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => 'accepted',
    ({ status, reason, message }: OAuthFailure) => `${status} ${reason}: ${message}`,
  )
/** Services in so many bytes, with the addresses that are none. */
const servicesOf = (bytes: number) => {
  const services = Array.from({ length: 20 }, (_, at) => ({ name: `s${at}`, path: `/${'x'.repeat(170)}` }))
  const missing = bytes - Buffer.byteLength(JSON.stringify({ addresses: [], services }))
  services[0]!.path += 'x'.repeat(missing % 80)
  for (let left = Math.floor(missing / 80), at = 1; left > 0; left--, at++)
    services[at]!.path += 'x'.repeat(80)
  return services
}

beforeAll(async () => {
  stack = await startStack({ discovery: [`--limits.nodes=${most}`] })
  developer = await createDeveloper(stack.state)
})
afterAll(() => stack?.stop())

describe('what a node states', () => {
  it('has at most 4 KB, whatever its letters take', async () => {
    const device = await createDevice(urls(), developer)
    expect(await refusal(device.begin({ services: servicesOf(4096) }))).toBe('accepted')
    expect(await refusal(device.begin({ services: servicesOf(4097) }))).toBe(
      '400 invalid_request: addresses and services are 4097 bytes; at most 4096 are accepted',
    )
    const addresses = Array.from({ length: 16 }, () => '\u{1F600}'.repeat(64))
    expect(await refusal(device.begin({ addresses }))).toMatch(/^400 invalid_request: addresses and services/)
  })
})

describe('an account', () => {
  it('has as many nodes as it may have, and reads them in lists of at most 256 KiB', async () => {
    const fleet: Device[] = []
    for (let from = 1; from < most; from += 10) {
      const some = Array.from({ length: Math.min(10, most - from) }, (_, at) =>
        createDevice(urls(), developer, `device ${from + at}`),
      )
      fleet.push(...(await Promise.all(some)))
    }
    for (const each of fleet) {
      await each.begin({ services: servicesOf(4096) })
      await each.report(fixAt(10, 10))
    }
    const late = await createDevice(urls(), developer, 'late')
    expect(await refusal(late.begin())).toMatch(
      /^403 access_denied: the account has 70 nodes already.*limits\.nodes/,
    )
    expect(await refusal(fleet[0]!.begin({ services: servicesOf(4096) }))).toBe('accepted')

    const found: string[] = []
    for (let after: string | undefined, page = 0; page < 9; page++) {
      const { data, next } = await fleet[1]!.account({ limit: 500, ...(after !== undefined && { after }) })
      expect(JSON.stringify(data).length).toBeLessThanOrEqual(256 * 1024)
      found.push(...data.map(({ nodeId }) => nodeId))
      if (next === null) break
      after = next
    }
    expect(new Set(found).size).toBe(most)
    expect(found).toHaveLength(most)
    const near = await fleet[1]!.near({ radius: 100_000, limit: 100 })
    expect(JSON.stringify(near).length).toBeLessThanOrEqual(256 * 1024)
    expect(near.length).toBeGreaterThan(40)
  })
})

describe('a device that changes hands', () => {
  it('reports nothing more to its former account, with a session or a token from before', async () => {
    const [former, next] = [await createDeveloper(stack.state), await createDeveloper(stack.state)]
    const device = await createDevice(urls(), former)
    const witness = await createDevice(urls(), former, 'witness')
    const oldToken = await device.state({ audience: discoveryAudience })
    const sharing = { account: 'exact', others: 'exact' } as const
    const oldSession = await device.begin({ sharing, trackUntil: Date.now() + 60_000 }, oldToken)
    await device.report(fixAt(20, 20))

    await device.state({ account: { id: '' } })
    const { access_token } = await createIdentityClient({ url: stack.identity.url }).exchange({
      clientId: next.clientId,
      developerIdToken: next.idToken,
      edgeIdToken: await device.tenantToken(),
      scope: 'openid edge:account:associate',
    })
    await device.state({ account: { id: next.accountId, access_token } })
    await device.begin(
      { trackUntil: Date.now() + 60_000 },
      await device.state({ audience: discoveryAudience }),
    )

    expect(await refusal(device.report(fixAt(21, 21), oldSession))).toMatch(
      /^401 invalid_token: .*left the account/,
    )
    expect(await refusal(device.begin({ sharing }, oldToken))).toMatch(
      /^401 invalid_token: .*before the node changed accounts/,
    )
    expect((await witness.account()).data.map(({ nodeId }) => nodeId)).toEqual([witness.nodeId])
    await witness.report(fixAt(21, 21))
    expect(await witness.near({ radius: 100_000 })).toEqual([])

    await device.begin(
      { trackUntil: Date.now() + 60_000 },
      await device.state({ audience: discoveryAudience }),
    )
    await device.report(fixAt(22, 22))
    expect((await device.track()).data.map(([longitude]) => longitude)).toEqual([22])
  })
})
