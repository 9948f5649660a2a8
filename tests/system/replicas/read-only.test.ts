/** A database that only reads, as after a failover: `default_transaction_read_only` of a real PostgreSQL. */
import { join } from 'node:path'
import { identityPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createNodeKey } from '../../harness/device.ts'
import { adminOf, createDeveloper } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { contactAs } from '../../harness/node-contact.ts'
import { post } from '../../harness/oauth.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { setReadOnly } from '../../harness/read-only.ts'
import { type Replicas, startReplicas } from '../../harness/replicas.ts'
import { onlyReads, seenStore, writes } from '../../harness/seen-store.ts'

describe('two replicas on a database that only reads', needs('postgres'), () => {
  let replicas: Replicas
  let sockets: Awaited<ReturnType<typeof temporaryFolder>>
  beforeAll(async () => {
    sockets = await temporaryFolder()
    replicas = await startReplicas((index) => [
      ...['--limits.address=1000000', '--limits.client=1000000'],
      `--metrics.listen=${join(sockets.path, String(index))}`,
    ])
  })
  afterAll(async () => {
    await replicas.stop()
    await sockets.remove()
  })

  async function setReadOnlyNow(isOn: boolean) {
    await setReadOnly(replicas.database, isOn)
    await replicas.endConnections()
  }
  const seen = () =>
    Promise.all(replicas.all.map(({ url }, index) => seenStore(url, join(sockets.path, String(index)))))

  it('stay ready, name it, and log each cause once; what reads is answered', async () => {
    const { idToken, clientId } = await createDeveloper(replicas.all[0].state)
    await setReadOnlyNow(true)
    const [{ url, state, errors }] = replicas.all
    await expect.poll(seen).toEqual([onlyReads, onlyReads])
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
    await setReadOnlyNow(false)
    await expect.poll(seen).toEqual([writes, writes])
    await adminOf(state)['account.create']({ email: 'later@example.com' })
  })
  it('go on giving tokens to the devices they know, and use up each proof once', async () => {
    const device = createNodeKey()
    await contactAs(device, replicas.url)
    await setReadOnlyNow(true)
    await expect.poll(seen).toEqual([onlyReads, onlyReads])
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
    await setReadOnlyNow(false)
  })
})
