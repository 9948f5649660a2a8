/** Downloads that are under way when their account leaves, at a registry that stalls: the real runtime ends them. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { layoutFiles, tarOf } from '../../harness/archives.ts'
import { type Services, startServices } from '../../harness/services.ts'

const files = layoutFiles({
  layers: [tarOf([{ path: 'etc/a', content: 'a'.repeat(100_000) }])],
  config: { Cmd: ['/app'] },
})
const contentOf = (path: string) => files.find((each) => each.path === path)!.content!
const manifest = contentOf(
  `blobs/sha256/${JSON.parse(String(contentOf('index.json'))).manifests[0].digest.slice(7)}`,
)

let services: Services
let server: Server
let source: string
beforeAll(async () => {
  services = await startServices()
  // It has no answer for a blob.
  server = createServer((request, response) => {
    if (request.url?.includes('/manifests/')) response.end(manifest)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  source = `127.0.0.1:${(server.address() as AddressInfo).port}/team/app:1`
})
afterAll(async () => {
  server?.close().closeAllConnections()
  await services?.stop()
})

/** Begins a download. @returns why it ends, when the registry was asked */
async function begin(token: string) {
  const isAsked = once(server, 'request')
  const outcome = services
    .runtime()
    .deployImage({ edgeAccessToken: token, source })
    .then(String, ({ reason }) => reason as string)
  await isAsked
  return { outcome }
}

it('of an account that leaves', async () => {
  const { outcome } = await begin(services.token)
  await services.runtime().unassociateAccount({ edgeAccessToken: services.token })
  expect(await outcome).toBe('wrong_account')
})
