/** What a device states about itself, from the runtime to the console of its owner. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink } from '../harness/console.ts'
import { createNodeKey } from '../harness/device.ts'
import { adminOf } from '../harness/flow.ts'
import { contactAs } from '../harness/node-contact.ts'
import { createProgramClock, type ProgramClock } from '../harness/program-clock.ts'
import { type Services, startServices } from '../harness/services.ts'

let clock: ProgramClock
let services: Services
let nodeId: string
let owner: ConsoleSession
beforeAll(async () => {
  clock = await createProgramClock()
  services = await startServices({
    env: { SELVEDGE_SECRET_OF_A_TEST: 'environment-of-the-runtime', ...clock.env },
  })
  const { stack } = services
  nodeId = (await services.runtime().getMe()).nodeId
  const { email } = services.developer
  const { link } = await adminOf(stack.state)['account.link']({ email })
  owner = await enterByLink(stack.identity.url, link, email)
})
afterAll(async () => {
  await services?.stop()
  await clock?.remove()
})

const vitals = async (of = nodeId) => (await owner.api['device.get']({ nodeId: of })).vitals

/** A contact that the device makes anyway: its services changed. */
const contact = (name: string) => services.deploy(name, 'export default { fetch: () => new Response("ok") }')

it('shows its owner the system, its room and its clock, and nothing of a token', async () => {
  await expect.poll(() => vitals()).toMatchObject({ clock: 'trusted', cores: expect.any(Number) })
  const { memory, disk, arch, statedAt } = (await vitals())!
  expect(memory.usedBytes).toBeLessThan(memory.totalBytes)
  expect(disk!.totalBytes).toBeGreaterThan(0)
  expect([arch, Date.parse(statedAt) > 0]).toEqual([process.arch, true])
})

it('reports how often a service was restarted and why, and nothing that it wrote', async () => {
  const source = `console.error('secret in /etc/pump'); setTimeout(() => Deno.exit(7), 60)
    export default { fetch: () => new Response('ok') }`
  const { id } = await services.deploy('pump', source, { TOKEN: 'value-of-a-setting', 'MCM.IDLE_SEC': '0' })
  const ends = async () => (await vitals())?.services.find((each) => each.id === id)
  for (let round = 0; (await ends()) === undefined && round < 20; round++) {
    await contact(`other-${round}`)
    await clock.pass(1500)
  }
  expect(await ends()).toMatchObject({ lastEnd: 'exited', restarts: expect.any(Number) })
  const text = JSON.stringify(await vitals())
  for (const secret of ['secret', '/etc', 'value-of', 'environment-of', services.stack.state, services.token])
    expect(text).not.toContain(secret)
})

it('shows where it was only while the owner has its track stored', async () => {
  const track = () => owner.api['device.track']({ nodeId })
  const runtime = services.runtime()
  const report = (longitude: number) =>
    runtime.updateGps({ edgeAccessToken: services.token, longitude, latitude: 59, speed: 1, bearing: 0 })
  await report(10)
  expect(await track()).toEqual({ points: [], until: null })
  const until = new Date(Date.now() + 3_600_000).toISOString()
  await runtime.setLocationTrack({ edgeAccessToken: services.token, until })
  await report(10.1)
  await expect
    .poll(track)
    .toMatchObject({ points: [[10.1, 59, expect.any(Number)]], until: expect.any(String) })
  await runtime.setLocationTrack({ edgeAccessToken: services.token, until: '' })
  await expect.poll(track).toEqual({ points: [], until: null })
})

it('forgets all of it once the device withdraws it', async () => {
  await services.restart('SIGTERM', { SELVEDGE_TELEMETRY: 'false' })
  await expect.poll(() => vitals()).toBeNull()
  const { device } = await owner.api['device.get']({ nodeId })
  expect(device.services.map(({ name }) => name)).toContain('pump')
  await services.restart('SIGTERM', { SELVEDGE_TELEMETRY: 'true' })
})

describe('a hostile device', () => {
  const key = createNodeKey()

  it.each<[string, unknown]>([
    ['text', 'all good'],
    ['a list', [[[]]]],
    ['more than fits', { arch: 'x', padding: 'x'.repeat(4000) }],
    ['control characters', { arch: '\u001b[2J' }],
  ])('gets its token, and is not heard, with %s', async (_, stated) => {
    expect(await contactAs(key, services.stack.identity.url, { vitals: stated })).toMatch(/^ey/)
    await expect(vitals(key.nodeId)).rejects.toMatchObject({ reason: 'not_found' })
  })
})
