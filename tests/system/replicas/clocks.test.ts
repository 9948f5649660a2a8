/** Replicas whose clocks differ: the database's clock counts, and revocation needs none. */
import * as jose from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enterByLink } from '../../harness/console.ts'
import { adminOf, createDeveloper } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { post } from '../../harness/oauth.ts'
import { createProgramClock, days, type ProgramClock, years } from '../../harness/program-clock.ts'
import { edgeTokenThrough, type Replicas, startReplicas } from '../../harness/replicas.ts'

describe('a replica with a wrong clock', needs('postgres'), () => {
  let replicas: Replicas
  let clock: ProgramClock
  let edgeToken: string
  beforeAll(async () => {
    clock = await createProgramClock(30_000)
    replicas = await startReplicas(['--limits.address=1000000'], async (index) =>
      index === 0 ? {} : { ...clock.env },
    )
    edgeToken = await edgeTokenThrough(replicas)
  })
  afterAll(async () => {
    await replicas.stop()
    await clock.remove()
  })

  it.each([
    ['30 s ahead', 30_000],
    ['30 s behind', -30_000],
    ['a day ahead', days(1)],
    ['ten years ahead', years(10)],
    ['ten years behind', -years(10)],
  ])('that is %s issues tokens by the database’s clock, and "revoke all" reaches them', async (_, shift) => {
    await clock.set(shift)
    const [straight, wrong] = replicas.all
    const admin = adminOf(straight.state)
    const { email, clientId, idToken } = await createDeveloper(straight.state)
    const answer = await post(`${wrong.url}/token`, {
      grant_type: 'id_token_signin',
      client_id: clientId,
      id_token: idToken,
      edge_id_token: edgeToken,
      scope: 'openid edge:mcm',
    })
    expect(answer.status).toBe(200)
    const token = answer.body.access_token!
    const before = Math.floor(Date.now() / 1000)
    expect(Math.abs(Number(jose.decodeJwt(token).iat) - before)).toBeLessThanOrEqual(5)

    const isActive = async (url: string) =>
      (await post(`${url}/introspect`, { token, client_id: clientId })).body.active
    expect([await isActive(straight.url), await isActive(wrong.url)]).toEqual([true, true])
    const { link } = await admin['account.link']({ email })
    const owner = await enterByLink(replicas.url, link, email)
    await owner.api['account.revoke_all']()
    for (const url of [straight.url, wrong.url]) await expect.poll(() => isActive(url)).toBe(false)
  })
})
