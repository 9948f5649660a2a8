/** What a person reads at a terminal: neighbours, sharing, tracks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cliEnvOf } from '../harness/cli.ts'
import { runCliHere } from '../harness/cli-here.ts'
import { createDevice, type Device, fixAt } from '../harness/device.ts'
import { accessToken, createDeveloper, type Developer, runtimeOf } from '../harness/flow.ts'
import { type Stack, startStack } from '../harness/processes.ts'

let stack: Stack
let token: string
let neighbour: Device
let stranger: Device

const selvedge = async (...args: readonly string[]) => {
  const { code, out, errors } = await runCliHere(args, { ...cliEnvOf(stack), SELVEDGE_ACCESS_TOKEN: token })
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  return out.trimEnd()
}
/** The table's rows, each as its cells. */
const table = (text: string) => text.split('\n').map((line) => line.split(/ {2,}/))

beforeAll(async () => {
  stack = await startStack()
  const own: Developer = await createDeveloper(stack.state)
  const other: Developer = await createDeveloper(stack.state)
  token = await accessToken(stack, own)
  await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
  const urls = { identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url }
  neighbour = await createDevice(urls, own, 'boat')
  stranger = await createDevice(urls, other, 'car')
  await neighbour.begin({ addresses: ['10.0.0.7'], services: [{ name: 'camera', path: '/demo/camera' }] })
  await stranger.begin({ sharing: { account: 'exact', others: '1km' } })
  await neighbour.report(fixAt(2.36, 48.85))
  await stranger.report(fixAt(2.37, 48.85))
})
afterAll(() => stack.stop())

describe('selvedge nodes', () => {
  it('lists the account; where a node was, and what it serves', async () => {
    const [head, ...rows] = table(await selvedge('nodes'))
    expect(head).toEqual(['node', 'name', 'state', 'distance', 'place', 'age', 'addresses', 'services'])
    expect(rows).toHaveLength(2)
    const [id, ...cells] = rows.find(([, name]) => name === 'boat')!
    expect(neighbour.nodeId.startsWith(id!)).toBe(true)
    expect(cells).toEqual([
      'boat',
      'online',
      '-',
      '48.85000, 2.36000',
      expect.stringMatching(/^\d+ s$/),
      '10.0.0.7',
      '/demo/camera',
    ])
  })

  it('lists it by pages, and says how to go on', async () => {
    const [, row, more] = (await selvedge('nodes', '--limit', '1')).split('\n')
    const [, after] = /^there are more: --after (\S+)$/.exec(more!)!
    const [, other, end] = (await selvedge('nodes', '--limit', '1', '--after', after!)).split('\n')
    expect(end).toBeUndefined()
    expect(row!.slice(0, 12)).not.toBe(other!.slice(0, 12))
  })

  it('lists nodes nearby, with no more digits of a location than the precision allows', async () => {
    await selvedge('gps', 'update', '--longitude', '2.35', '--latitude', '48.85')
    const [, ...rows] = table(await selvedge('nodes', '--cluster', 'proximity'))
    expect(rows.map(([, name, , distance, place]) => [name, distance, place])).toEqual([
      ['boat', '732 m', '48.85000, 2.36000'],
      [
        '-',
        expect.stringMatching(/^\d(\.\d)? k?m$|^\d+ m$/),
        expect.stringMatching(/^about 48\.8\d, 2\.3\d$/),
      ],
    ])
    expect(await selvedge('nodes', '--cluster', 'proximity', '--radius', '10')).toBe('no node nearby')
  })

  it('is refused with what it may be', async () => {
    const ran = await runCliHere(['nodes', '--cluster', 'moon'], cliEnvOf(stack))
    expect(ran).toEqual({
      code: 2,
      out: '',
      errors: 'error: there is no cluster "moon"\nhint: Give one of account, proximity, linkLocal.\n',
    })
  })
})

describe('selvedge location', () => {
  it('shares as far as is said, and shows it', async () => {
    expect(await selvedge('location', 'show')).toBe('own account: exact, others: none; no track is stored')
    expect(await selvedge('location', 'share', 'others', 'city')).toBe(
      'own account: exact, others: city; it applies from now on',
    )
    expect(JSON.parse(await selvedge('location', 'show', '--json'))).toEqual({
      account: 'exact',
      others: 'city',
      trackUntil: null,
    })
  })

  it('keeps a track for some days, shows it, and deletes it', async () => {
    expect(await selvedge('location', 'track', '--days', '2')).toMatch(
      /^a track is stored until \S+Z; it applies from now on$/,
    )
    await selvedge('gps', 'update', '--longitude', '2.351', '--latitude', '48.85')
    expect(await selvedge('location', 'track')).toMatch(/^\S+Z {2}48\.850000, 2\.351000\nstored until \S+Z$/)
    await selvedge('gps', 'update', '--longitude', '2.352', '--latitude', '48.85')
    const [more, line] = (await selvedge('location', 'track', '--limit', '1')).split('\n')
    expect(line).toMatch(/48\.850000, 2\.352000$/)
    const [, before] = /^for earlier points: --before (\S+)$/.exec(more!)!
    expect(await selvedge('location', 'track', '--before', before!)).toMatch(
      /^\S+Z {2}48\.850000, 2\.351000\nstored until/,
    )
    await selvedge('location', 'track', '--off')
    expect(await selvedge('location', 'show')).toMatch(/; no track is stored$/)
    expect(await selvedge('location', 'track')).not.toMatch(/48\.85/)
  })
})

it('without the discovery service the last known nodes are listed, and it is said', async () => {
  await stack.discovery.stop('SIGKILL')
  const lines = (await selvedge('nodes')).split('\n')
  expect(lines).toHaveLength(4)
  expect(lines.at(-1)).toMatch(/^last known \d+ s ago: the discovery service cannot be reached$/)
})
