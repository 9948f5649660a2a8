/**
 * Each attempt of a hostile function is made. Afterwards the runtime and a bystander are as they were. Attempts that leave a function as it was
 * are made by one function for each environment; the others by a function of their own.
 */
import { readdirSync } from 'node:fs'
import type { ContainerRecord } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { instanceFolder } from '../../harness/instances.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { attackerSource, type Escape, escapes, needsOwnFunction } from './escapes.ts'
import { nodeEscapes } from './escapes-node.ts'
import { socketEscapes } from './escapes-sockets.ts'

const all: readonly Escape[] = [...escapes, ...nodeEscapes, ...socketEscapes]
/** Attempts that one function makes, by its environment. */
const groups = Map.groupBy(
  all.filter((each) => !needsOwnFunction(each)),
  ({ env = {} }) => JSON.stringify(env),
)

let services: Services
let bystander: string
const shared = new Map<string, Promise<ContainerRecord>>()

beforeAll(async () => {
  services = await startServices()
  bystander = (
    await services.deploy('bystander', 'export default { fetch: () => new Response("unharmed") }', {
      'MCM.IDLE_SEC': '0',
    })
  ).basePath
})
afterAll(() => services.stop())

const deploy = (name: string, attempts: readonly Escape[], env: Readonly<Record<string, string>> = {}) =>
  services.deploy(
    name,
    attackerSource(attempts, {
      STATE: services.stack.state,
      PORT: new URL(services.url()).port,
      BYSTANDER: bystander,
    }),
    { 'MCM.IDLE_SEC': '0', 'MCM.MAX_EXECUTION_TIME_SEC': '10', ...env },
  )

/** The function that makes an attempt, and the number of the attempt in it. */
async function attackerOf(attack: Escape): Promise<{ attacker: ContainerRecord; number: number }> {
  if (needsOwnFunction(attack)) return { attacker: await deploy('attacker', [attack], attack.env), number: 0 }
  const key = JSON.stringify(attack.env ?? {})
  const attempts = groups.get(key)!
  if (!shared.has(key)) shared.set(key, deploy(`attacker-${shared.size}`, attempts, attack.env))
  return { attacker: await shared.get(key)!, number: attempts.indexOf(attack) }
}

describe('a hostile function can’t', needs('bwrap'), () => {
  it.each(all)('$name', async (attack) => {
    const { attacker, number } = await attackerOf(attack)
    const { id, basePath, isolation } = attacker
    const attempt = `${basePath}/attempt/${number}`
    const { answer } = attack
    const { status, text } = await services.call(attempt)
    if (answer instanceof RegExp) expect(`${status} ${text}`.slice(4), `${status}`).toMatch(answer)
    else expect(answer, text).toContain(status)

    if (attack.afterwards !== undefined) {
      // Many attempts at once hold the connections to what was there before, so that new ones are opened.
      await expect
        .poll(async () => {
          const calls = Array.from({ length: 40 }, () => services.call(attempt))
          return (await Promise.all(calls)).map((each) => each.status)
        })
        .toContain(attack.afterwards)
    }

    expect((await services.call(bystander)).text).toBe('unharmed')
    expect((await services.runtime().getMe()).nodeId).toMatch(/^[0-9a-f]{56}$/)
    const query = { edgeAccessToken: services.token, id }
    if (attack.history) {
      await expect
        .poll(async () =>
          (await services.runtime().getContainerHistory(query)).history
            .map(({ detail }) => detail)
            .join('\n'),
        )
        .toMatch(attack.history)
    }
    const { lines } = await services.runtime().getContainerLogs({ ...query, tail: 10_000 })
    expect(lines.reduce((sum, { text: line }) => sum + line.length, 0)).toBeLessThan(600_000)
    if (needsOwnFunction(attack)) await services.runtime().removeContainer(query)
    expect(isolation).toEqual(
      expect.arrayContaining(['language permissions', 'namespaces', 'unprivileged user']),
    )
  })

  it('and all that was left of them is gone', async () => {
    const edgeAccessToken = services.token
    const attackers = await Promise.all(shared.values())
    const found = await services.runtime().getContainers({ edgeAccessToken })
    // No attempt has stopped a function that others are made in.
    for (const { id } of attackers) expect(found.find((each) => each.id === id)?.restarts, id).toBe(0)
    for (const { id } of attackers) await services.runtime().removeContainer({ edgeAccessToken, id })
    const containers = await services.runtime().getContainers({ edgeAccessToken })
    expect(containers.map(({ name, restarts }) => [name, restarts])).toEqual([['bystander', 0]])
    expect(readdirSync(instanceFolder(services.stack.state))).toHaveLength(1)
  })
})
