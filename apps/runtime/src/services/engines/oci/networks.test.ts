/** The network of a container: its interface on this device, and an engine that fails for a moment. */
import { expect, it } from 'vitest'
import type * as answers from './answers.ts'
import { type EngineApi, EngineError } from './engine-api.ts'
import { createNetwork, upstreamOf } from './networks.ts'

interface Body {
  readonly Options: Readonly<Record<string, string>>
}

/** An engine that refuses networks with these texts, one after the other, and then makes them. */
function engine(...refusals: readonly string[]) {
  const left = [...refusals]
  const made: Body[] = []
  const send = async (method: string, _path: string, body?: object) => {
    if (method === 'DELETE') throw new EngineError(404, 'no such network')
    const text = left.shift()
    if (text !== undefined) throw new EngineError(500, text)
    made.push(body as Body)
  }
  return { api: { send } as unknown as EngineApi, made, left }
}
const interfaceOf = async (name: string, owner: string) => {
  const { api, made } = engine()
  await createNetwork(api, name, owner)
  return made[0]!.Options['com.docker.network.bridge.name']!
}

it('has an interface that no other network of this or another runtime has, with a name that the kernel accepts', async () => {
  const names = await Promise.all([
    interfaceOf('selvedge-a-r1', 'a'),
    interfaceOf('selvedge-a-r2', 'a'),
    interfaceOf('selvedge-a-r1', 'b'),
  ])
  expect(new Set(names).size).toBe(3)
  expect(names[0]).toBe(await interfaceOf('selvedge-a-r1', 'a'))
  for (const name of names) expect(name).toMatch(/^sv-[0-9a-f]{12}$/)
})

const race = 'route ip+net: no such network interface'

it('is made at another attempt when an interface of the device was removed meanwhile', async () => {
  const { api, made } = engine(race, race)
  await createNetwork(api, 'name', 'owner')
  expect(made).toHaveLength(1)
})

it('is not attempted without end, nor after another refusal', async () => {
  const racing = engine(...Array.from({ length: 10 }, () => race))
  await expect(createNetwork(racing.api, 'name', 'owner')).rejects.toThrow(race)
  expect(racing.left).toHaveLength(5)
  const full = engine('no subnet is free', 'no subnet is free')
  await expect(createNetwork(full.api, 'name', 'owner')).rejects.toThrow('no subnet is free')
  expect(full.left).toHaveLength(1)
})

it.each([
  ['n', /did not publish the port, as Docker .* set MCM.NETWORK to "open"/],
  [undefined, /did not publish the port$/],
])('without a published port in the network %s, the error has what to do', (network, message) => {
  const found = { NetworkSettings: { Ports: {} } } as answers.Inspected
  const reach = { network, isPublished: true, hasWayOut: false }
  expect(() => upstreamOf(found, reach, { target: 80, protocol: 'tcp' })).toThrow(message)
})
