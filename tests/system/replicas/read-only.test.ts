/** A database that only reads, as after a failover: `default_transaction_read_only` of a real PostgreSQL. */
import { identityPaths } from '@selvedge/protocol'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createNodeKey } from '../../harness/device.ts'
import { adminOf, createDeveloper } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { contactAs } from '../../harness/node-contact.ts'
import { post } from '../../harness/oauth.ts'
import { type Replicas, startReplicas } from '../../harness/replicas.ts'

describe('two replicas on a database that only reads', needs('postgres'), () => {
  let replicas: Replicas
  beforeAll(async () => {
    replicas = await startReplicas(['--limits.address=1000000', '--limits.client=1000000'])
  })
  afterAll(() => replicas.stop())

  async function setReadOnly(isOn: boolean) {
    const client = new pg.Client(replicas.database)
    await client.connect()
    await client.query('SET default_transaction_read_only = off')
    const { pathname } = new URL(replicas.database)
    await client.query(
      `ALTER DATABASE "${pathname.slice(1)}" SET default_transaction_read_only = ${isOn ? 'on' : 'off'}`,
    )
    await client.end()
    await replicas.endConnections()
  }
  const ready = async (url: string) => {
    const answer = await fetch(`${url}/readyz`)
    return { code: answer.status, ...((await answer.json()) as object) }
  }

  it('stay ready, name it, and log each cause once; what reads is answered', async () => {
    const { idToken, clientId } = await createDeveloper(replicas.all[0].state)
    await setReadOnly(true)
    const [{ url, state, errors }] = replicas.all
    for (const each of replicas.all)
      await expect
        .poll(() => ready(each.url))
        .toEqual({ code: 200, status: 'degraded', degraded: ['store_not_writable'] })
    const ids = new Set<string>()
    for (let at = 0; at < 300; at++) {
      const write = post(`${url}/device_authorization`, { client_id: clientId, scope: 'openid' })
      const { status, body } = await write
      expect(status).toBe(503)
      ids.add(/under (\S+)$/.exec(body.error_description!)![1]!)
    }
    expect(ids.size).toBe(1)
    expect(errors()).toContain([...ids][0])
    expect(errors().split('"message":"a request failed"').length - 1).toBe(1)
    const introspection = await post(`${url}/introspect`, { client_id: clientId, token: idToken })
    expect(introspection.body).toMatchObject({ active: true })
    await setReadOnly(false)
    for (const each of replicas.all)
      await expect.poll(() => ready(each.url)).toEqual({ code: 200, status: 'ok' })
    await adminOf(state)['account.create']({ email: 'later@example.com' })
  })
  it('go on giving tokens to the devices they know, and use up each proof once', async () => {
    const device = createNodeKey()
    await contactAs(device, replicas.url)
    await setReadOnly(true)
    for (const each of replicas.all)
      await expect.poll(() => ready(each.url)).toMatchObject({ status: 'degraded' })
    for (let at = 0; at < 4; at++) expect(await contactAs(device, replicas.url)).toMatch(/^ey/)
    const [{ url }] = replicas.all
    const target = replicas.url + identityPaths.edgeToken
    const ask = async (proof: string) => {
      const answer = await fetch(url + identityPaths.edgeToken, { method: 'POST', headers: { DPoP: proof } })
      return { status: answer.status, nonce: answer.headers.get('dpop-nonce')! }
    }
    const { nonce } = await ask(device.prove(target, {}))
    const proof = device.prove(target, { nonce, node: { name: 'known', hmac_key: device.jwk } })
    expect(await ask(proof)).toMatchObject({ status: 200 })
    expect(await ask(proof)).toMatchObject({ status: 400 })
    await expect(contactAs(createNodeKey(), replicas.url)).rejects.toThrow(/storage_failed/)
    await setReadOnly(false)
  })
})
