/** A database that ends its connections, as every restart and failover does, ends no service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adminOf, createDeveloper } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { post } from '../../harness/oauth.ts'
import { type Replicas, startReplicas } from '../../harness/replicas.ts'

describe('two replicas whose database ends their connections', needs('postgres'), () => {
  let replicas: Replicas
  beforeAll(async () => {
    replicas = await startReplicas(['--limits.address=1000000', '--limits.client=1000000'])
  })
  afterAll(() => replicas.stop())

  it('go on under load: what is refused is a failure of that request, and both answer afterwards', async () => {
    const { idToken, clientId } = await createDeveloper(replicas.all[0].state)
    let isOver = false
    const outcomes = { ok: 0, refused: 0 }
    let emails = 0
    const load = replicas.all.flatMap(({ url, state }) => {
      const introspect = () =>
        post(`${url}/introspect`, { client_id: clientId, token: idToken }).then(({ status }) => status < 500)
      const create = () =>
        adminOf(state)
          ['account.create']({ email: `${++emails}@example.com` })
          .then(() => true)
          .catch(() => false)
      return [introspect, create, create, create].map(async (work) => {
        while (!isOver) outcomes[(await work()) ? 'ok' : 'refused']++
      })
    })
    for (let round = 0; round < 25; round++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      await replicas.endConnections()
    }
    isOver = true
    await Promise.all(load)
    for (const { url, process } of replicas.all) {
      expect([process.exitCode, process.signalCode]).toEqual([null, null])
      await expect.poll(async () => (await fetch(`${url}/healthz`)).status).toBe(200)
    }
    const introspected = await post(`${replicas.all[1].url}/introspect`, {
      client_id: clientId,
      token: idToken,
    })
    expect(introspected.status).toBe(200)
    console.info('25 ends of all connections:', outcomes)
    expect(outcomes.ok).toBeGreaterThan(0)
    expect(outcomes.refused).toBeGreaterThan(0)
  })
})
