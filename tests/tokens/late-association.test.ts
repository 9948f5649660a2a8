/** A device that was offline reports its account late: how late, the tenant's token decides. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { identityPaths } from '@selvedge/protocol'
import {
  accessProfile,
  edgeAudience,
  revocationsAudience,
  revocationsProfile,
} from '@selvedge/protocol/tokens'
import { freePort } from '@selvedge/service-kit/testing'
import { signJws } from '@selvedge/service-kit/tokens'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDevice } from '../harness/device.ts'
import { createDeveloper } from '../harness/flow.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../harness/processes.ts'
import { randomOf } from '../harness/seed.ts'

const random = randomOf('late-association')

const day = 86_400
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const key = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' }

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let identity: Program
/** A tenant of its own, which signs what the test wants. */
let tenant: Server
let issuer: string
/** Its list of revoked tokens. */
function emptyList(): string {
  const iat = Math.floor(Date.now() / 1000)
  const head = {
    iss: issuer,
    sub: issuer,
    aud: revocationsAudience,
    iat,
    exp: iat + 60,
    jti: random.bytes(16).toString('hex'),
  }
  const claims = { ...head, seq: 1, mark: 'm', revoked: [], not_before: {}, epochs: {} }
  return signJws({ typ: revocationsProfile.typ, kid: 'k' }, claims, pair.privateKey)
}
beforeAll(async () => {
  tenant = createServer(({ url }, response) => {
    if (url === identityPaths.revocations)
      return void response.setHeader('Content-Type', 'application/jwt').end(emptyList())
    const metadata = { issuer, token_endpoint: issuer, jwks_uri: `${issuer}/jwks` }
    response.end(JSON.stringify(url === identityPaths.oauthMetadata ? metadata : { keys: [key] }))
  }).listen(0, '127.0.0.1')
  await once(tenant, 'listening')
  issuer = `http://127.0.0.1:${(tenant.address() as AddressInfo).port}`
  folder = await temporaryFolder()
  const port = await freePort()
  identity = await startProgram(
    'identity',
    { ...freePorts, SELVEDGE_STATE: folder.path, SELVEDGE_IDENTITY_PORT: String(port) },
    [`--trustedTenants=http://127.0.0.1:${port},${issuer}`],
  )
})
afterAll(async () => {
  await identity.stop()
  tenant.close()
  tenant.closeAllConnections()
  await folder.remove()
})

it('an access token associates its device until 90 days after its end, and no longer', async () => {
  const developer = await createDeveloper(folder.path)
  const device = await createDevice({ identityUrl: identity.url, discoveryUrl: issuer }, developer)
  const stateWith = (daysAgo: number) => {
    const exp = Math.floor(Date.now() / 1000) - daysAgo * day
    const id = random.bytes(16).toString('hex')
    const claims = {
      iss: issuer,
      sub: id,
      aud: edgeAudience,
      iat: exp - 3600,
      exp,
      jti: random.bytes(16).toString('hex'),
      client_id: 'c',
      azp: 'c',
      account_id: id,
      node_id: device.nodeId,
      scope: 'openid edge:account:associate',
      act: { sub: device.nodeId },
      auth_time: exp - 3600,
    }
    const access_token = signJws({ typ: accessProfile.typ, kid: 'k' }, claims, pair.privateKey)
    return device.state({ account: { id, access_token } })
  }
  await expect(stateWith(91)).rejects.toThrow(/expired more than 90 days ago/)
  await expect(stateWith(89)).resolves.toEqual(expect.any(String))
})
