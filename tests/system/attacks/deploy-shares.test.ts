/** One project that uses all of the device that it can get, and another one that deploys meanwhile. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { functionImage } from '../../harness/archives.ts'
import { accessToken, createProject } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { callUrl, type Services, startServices } from '../../harness/services.ts'

const megabyte = 1024 * 1024
const source = 'export default { fetch: () => new Response("up") }'
const paths = ['/mcm/v1/images', '/mcm/v1/uploads']

/** A function of so many MiB that no compression makes smaller. */
const large = (name: string, size: number) =>
  functionImage(`// ${randomBytes((size * megabyte) / 2).toString('hex')}\n${source}`, name)

/** A second project of the account, which attacks. */
async function attackerOf({ stack, developer }: Services): Promise<string> {
  return accessToken(stack, await createProject(stack.state, developer.email))
}

const post = (services: Services, path: string, body: Buffer, token: string) =>
  callUrl(services.url() + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-tar' },
    token,
    body,
  })

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

/** The head of a request with a body, and the first bytes of that. @returns what the server answers until it closes */
function begin(
  services: Services,
  path: string,
  token: string,
  length: number,
  first: Uint8Array = Buffer.alloc(0),
) {
  const { hostname, port } = new URL(services.url())
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  const answer = new Promise<string>((resolve) => {
    let text = ''
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      text += chunk
      if (text.includes('"reason"')) resolve(text)
    })
    socket.on('close', () => resolve(text))
  })
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: localhost:${port}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/x-tar',
    `Content-Length: ${length}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(first)
  return answer
}

describe('slow uploads of one project', () => {
  let services: Services
  let attacker: string
  beforeAll(async () => {
    services = await startServices()
    attacker = await attackerOf(services)
  })
  afterAll(() => services.stop())

  it.each(paths)('to %s are limited, and another project deploys meanwhile', async (path) => {
    const archive = functionImage(source, 'slow')
    for (let at = 0; at < 20; at++) begin(services, path, attacker, archive.length, archive.subarray(0, 600))
    // The attacker has used up all that it gets.
    const next = async () => JSON.parse((await post(services, path, archive, attacker)).text).error?.reason
    await expect.poll(next).toBe('busy')
    for (const each of paths) {
      const { status, text } = await post(services, each, functionImage(source, 'honest'), services.token)
      expect({ each, status, text }).toMatchObject({ each, status: 200 })
    }
    const spec = { name: 'honest', image: 'honest', env: {} }
    const container = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    expect(container.state).toBe('running')
  })
})

describe('another project deploys while one', () => {
  let services: Services
  let attacker: string
  beforeAll(async () => {
    services = await startServices()
    attacker = await attackerOf(services)
  })
  afterAll(() => services.stop())

  async function expectDeploys(name: string) {
    const { status, text } = await post(
      services,
      '/mcm/v1/images',
      functionImage(source, name),
      services.token,
    )
    expect({ status, text }).toMatchObject({ status: 200 })
    const spec = { name, image: name, env: {} }
    const container = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    expect(container.state).toBe('running')
  }

  it('has as many downloads as it may have, from a registry that does not answer', async () => {
    let asked = 0
    const registry = createServer(() => void asked++).listen(0, '127.0.0.1')
    await new Promise((resolve) => registry.once('listening', resolve))
    const { port } = registry.address() as AddressInfo
    const pull = (at: number) =>
      services
        .runtime()
        .deployImage({ edgeAccessToken: attacker, source: `127.0.0.1:${port}/slow${at}:1` })
        .then(
          () => 'done',
          ({ reason }) => reason,
        )
    const first = Array.from({ length: 8 }, (_, at) => pull(at))
    // Each is under way before one more comes.
    await expect.poll(() => asked).toBe(first.length)
    expect(await pull(8)).toBe('busy')
    await expectDeploys('beside-downloads')
    registry.closeAllConnections()
    registry.close()
    await Promise.all(first)
  })

  it('has as many secrets as it may have', async () => {
    const set = (edgeAccessToken: string, name: string) =>
      services
        .runtime()
        .setSecret({ edgeAccessToken, name, value: 'x' })
        .then(
          () => 'done',
          ({ reason }) => reason,
        )
    for (let at = 0; at < 100; at++) expect(await set(attacker, `s${at}`)).toBe('done')
    expect(await set(attacker, 'one-more')).toBe('limit_exceeded')
    expect(await set(services.token, 'own')).toBe('done')
    await expectDeploys('beside-secrets')
  })
})

describe('on a disk that is almost full', needs('mounts'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let services: Services
  let attacker: string
  beforeAll(async () => {
    folder = await temporaryFolder()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m,mode=0700', 'tmpfs', folder.path])
    services = await startServices({
      args: [`--images.reserve=${20 * megabyte}`],
      env: { SELVEDGE_STATE: folder.path },
    })
    attacker = await attackerOf(services)
    for (const name of ['first', 'second'])
      expect((await post(services, '/mcm/v1/images', large(name, 10), services.token)).status).toBe(200)
  })
  afterAll(async () => {
    await services.stop()
    execFileSync('umount', ['-l', folder.path])
    await folder.remove()
  })
  const names = async (edgeAccessToken: string) =>
    (await services.runtime().getImages({ edgeAccessToken })).map(({ name }) => name).sort()

  it.each(
    paths.flatMap((path) => [
      [path, 31 * 1024 ** 3, 'invalid_image'] as const,
      [path, 70 * megabyte, 'storage_full'] as const,
    ]),
  )('to announce a body to %s of %i bytes removes nothing, and is refused', async (path, length, reason) => {
    expect(await begin(services, path, attacker, length)).toContain(`"reason":"${reason}"`)
    expect(await names(services.token)).toEqual(['first', 'second'])
  })

  it.each(paths)('a body to %s that would fit, announced and not sent, removes nothing', async (path) => {
    for (const length of [22, 24, 26, 28, 48, 52])
      void begin(services, path, attacker, length * megabyte, Buffer.alloc(10))
    // Later requests of the same project are answered: those before were read.
    expect((await post(services, path, functionImage(source, 'small'), attacker)).status).toBe(200)
    expect(await names(services.token)).toEqual(['first', 'second'])
  })

  it('resumable uploads that would fit, announced and never sent, remove and reserve nothing', async () => {
    const length = `${50 * megabyte}`
    const announce = () =>
      callUrl(`${services.url()}/mcm/v1/uploads`, {
        method: 'POST',
        headers: { 'Tus-Resumable': '1.0.0', 'Upload-Length': length },
        token: attacker,
      })
    for (let at = 0; at < 4; at++) expect((await announce()).status).toBe(201)
    expect(await names(services.token)).toEqual(['first', 'second'])
    // Together they are more than the disk has.
    expect((await post(services, '/mcm/v1/images', large('third', 12), services.token)).status).toBe(200)
    expect(await names(services.token)).toEqual(['first', 'second', 'third'])
    await services.runtime().removeImage({ edgeAccessToken: services.token, id: 'third' })
  })

  it('a manifest of a registry that announces large layers removes nothing', async () => {
    const digest = `sha256:${'0'.repeat(64)}`
    const layers = [{ mediaType: '', digest, size: 40 * megabyte }]
    const asked: string[] = []
    const registry = createServer(({ url = '' }, response) => {
      asked.push(url)
      if (url.includes('/blobs/')) return void response.writeHead(404).end()
      const manifest = { config: { mediaType: '', digest, size: 100 }, layers }
      response.setHeader('Content-Type', 'application/vnd.oci.image.manifest.v1+json')
      response.end(JSON.stringify(manifest))
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => registry.once('listening', resolve))
    const { port } = registry.address() as AddressInfo
    const pull = services
      .runtime()
      .deployImage({ edgeAccessToken: attacker, source: `127.0.0.1:${port}/big:1` })
    await expect(pull).rejects.toThrow()
    expect(asked).not.toEqual([])
    expect(await names(services.token)).toEqual(['first', 'second'])
    registry.close()
  })

  it('valid images of one project do not remove what another one deployed within the last day', async () => {
    for (let at = 0; at < 6; at++) await post(services, '/mcm/v1/images', large(`full${at}`, 8), attacker)
    expect(await names(services.token)).toEqual(['first', 'second'])
  })

  it('a project that has filled the disk with images and uploads makes room for another one', async () => {
    for (let at = 0; at < 6; at++) await post(services, '/mcm/v1/uploads', large(`sent${at}`, 8), attacker)
    const { status, text } = await post(services, '/mcm/v1/images', large('third', 8), services.token)
    expect({ status, text }).toMatchObject({ status: 200 })
    expect(await names(services.token)).toEqual(['first', 'second', 'third'])
  })
})
