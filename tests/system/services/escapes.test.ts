/** Each hostile function is deployed and asked to try. Afterwards the runtime and a bystander are as they were. */
import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { instanceFolder } from '../../harness/instances.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { attackerSource, escapes } from './escapes.ts'
import { nodeEscapes } from './escapes-node.ts'
import { socketEscapes } from './escapes-sockets.ts'

let services: Services
let bystander: string

beforeAll(async () => {
  services = await startServices()
  bystander = (
    await services.deploy('bystander', 'export default { fetch: () => new Response("unharmed") }', {
      'MCM.IDLE_SEC': '0',
    })
  ).basePath
})
afterAll(() => services.stop())

describe('a hostile function can’t', needs('bwrap'), () => {
  it.each([...escapes, ...nodeEscapes, ...socketEscapes])('$name', async (attack) => {
    const source = attackerSource(attack, {
      STATE: services.stack.state,
      PORT: new URL(services.url()).port,
      BYSTANDER: bystander,
    })
    const { id, basePath, isolation } = await services.deploy('attacker', source, {
      'MCM.IDLE_SEC': '0',
      'MCM.MAX_EXECUTION_TIME_SEC': '10',
      ...attack.env,
    })
    const { answer } = attack
    const { status, text } = await services.call(`${basePath}/attempt`)
    if (answer instanceof RegExp) expect(`${status} ${text}`.slice(4), `${status}`).toMatch(answer)
    else expect(answer, text).toContain(status)

    if (attack.afterwards !== undefined) {
      // Many attempts at once hold the connections to what was there before, so that new ones are opened.
      await expect
        .poll(async () => {
          const calls = Array.from({ length: 40 }, () => services.call(`${basePath}/attempt`))
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
    await services.runtime().removeContainer(query)
    expect(isolation).toEqual(
      expect.arrayContaining(['language permissions', 'namespaces', 'unprivileged user']),
    )
  })

  it('and all that was left of them is gone', async () => {
    const containers = await services.runtime().getContainers({ edgeAccessToken: services.token })
    expect(containers.map(({ name, restarts }) => [name, restarts])).toEqual([['bystander', 0]])
    expect(readdirSync(instanceFolder(services.stack.state))).toHaveLength(1)
  })
})
