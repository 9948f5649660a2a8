/** Archives over connections that break: the client library, the command line, and the tus client of others, unmodified. */
import { execFile, execFileSync } from 'node:child_process'
import { createReadStream, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { uploadImage } from '@selvedge/client/node'
import { mcmPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { functionImage } from '../../harness/archives.ts'
import { type CuttingProxy, startCuttingProxy } from '../../harness/cutting-proxy.ts'
import { needs } from '../../harness/installed.ts'
import { testLimitMs } from '../../harness/limits.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'
import { randomOf } from '../../harness/seed.ts'
import { type Services, startServices } from '../../harness/services.ts'

const random = randomOf('uploads')
const megabyte = 1_000_000

let services: Services
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let proxy: CuttingProxy
beforeAll(async () => {
  proxy = await startCuttingProxy(() => Number(new URL(services.url()).port))
  services = await startServices({ args: [`--listen.hosts=127.0.0.1:${proxy.port}`] })
  folder = await temporaryFolder()
})
afterAll(async () => {
  proxy?.stop()
  await services?.stop()
  await folder?.remove()
})

/** An archive with a function, and what no compression makes smaller. */
function archiveOf(name: string, bytes: number): { path: string; size: number } {
  const source = `export default { fetch: () => new Response(${JSON.stringify(name)}) } // ${random.bytes(bytes).toString('base64')}`
  const archive = functionImage(source, name)
  const path = join(folder.path, `${name}.tar`)
  writeFileSync(path, archive)
  return { path, size: archive.length }
}
const connection = () => ({ url: `http://127.0.0.1:${proxy.port}`, edgeAccessToken: services.token })
const remove = (id: string) => services.runtime().removeImage({ edgeAccessToken: services.token, id })

/** Bytes of the one upload on the disk: what its newest note states, and the length of its file. */
function storedBytes(): { readonly noted: number; readonly inFile: number } {
  const uploads = join(services.stack.state, 'runtime/images/uploads')
  const notes = readdirSync(uploads)
    .filter((name) => /^[0-9a-f]{64}$/.test(name))
    .map((name) => JSON.parse(readFileSync(join(uploads, name), 'utf8')))
    .filter(({ deployed }) => deployed === null)
    .toSorted((one, other) => other.bytes - one.bytes)
  const [{ bytes, stored }] = notes
  return { noted: bytes, inFile: statSync(join(uploads, stored)).size }
}

describe('an archive of more than 8 MB, over connections that break', () => {
  it('arrives with each of its bytes sent about once', async () => {
    const { path, size } = archiveOf('cut', 9 * megabyte)
    proxy.cutAfter(megabyte)
    const waits: number[] = []
    const image = await uploadImage(connection(), path, undefined, undefined, (_, seconds) =>
      waits.push(seconds),
    )
    const { bytes } = proxy.pass()
    expect(image).toMatchObject({ name: 'cut', kind: 'function' })
    expect(waits.length).toBeGreaterThan(8)
    // What was on the way when the connection broke is sent again: the buffers of the two sockets here.
    expect(bytes / size).toBeLessThan(1.7)
    await remove(image.id)
  })

  it('continues at what is on the disk when the runtime is killed, ten times', async () => {
    const { path, size } = archiveOf('killed', 15 * megabyte)
    proxy.slowTo(3 * megabyte)
    const uploading = uploadImage(connection(), path)
    const durable = [0]
    /** Bytes that were in the file and not written down when the runtime was killed. */
    let lost = 0
    for (let kill = 0; kill < 10; kill++) {
      const isDue = () => {
        const { noted, inFile } = storedBytes()
        return noted > durable.at(-1)! && inFile - noted >= (kill % 3) * 200_000
      }
      await expect.poll(isDue, { timeout: testLimitMs }).toBe(true)
      await services.stopRuntime('SIGKILL')
      const { noted, inFile } = storedBytes()
      durable.push(noted)
      lost += inFile - noted
      await services.restart()
    }
    const image = await uploading
    const { bytes } = proxy.pass()
    expect(image).toMatchObject({ name: 'killed', kind: 'function' })
    const offsets = proxy.begins.flatMap((text) => /^PATCH[\s\S]*upload-offset: (\d+)/i.exec(text)?.[1] ?? [])
    expect([...new Set(offsets.map(Number))]).toEqual(durable)
    console.info(`${size} bytes, ${bytes} sent; ${lost} were not durable at ten kills`)
    expect(bytes).toBeLessThan(1.05 * size + lost)
    await remove(image.id)
  })

  it('is deployed by the command line', async () => {
    const { path } = archiveOf('line', 9 * megabyte)
    proxy.cutAfter(2 * megabyte)
    const env = {
      ...process.env,
      SELVEDGE_RUNTIME_URL: connection().url,
      SELVEDGE_ACCESS_TOKEN: services.token,
    }
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(root, 'apps/cli/dist/main.cjs'), 'image', 'deploy', path, '--json'],
      { env },
    )
    proxy.pass()
    expect(JSON.parse(stdout)).toMatchObject({ name: 'line' })
    await remove(JSON.parse(stdout).id)
  })
})

describe('tus-js-client', needs('client libraries'), () => {
  const tus = () => createRequire(join(root, 'tests/system/clients/libraries/'))('tus-js-client')

  it('sends an archive over connections that break, which is deployed by its handle', async () => {
    const { path, size } = archiveOf('tus', 3 * megabyte)
    proxy.cutAfter(megabyte)
    const url = await new Promise<string>((resolve, reject) => {
      const upload = new (tus().Upload)(createReadStream(path), {
        endpoint: connection().url + mcmPaths.uploads,
        headers: { Authorization: `Bearer ${services.token}` },
        uploadSize: size,
        chunkSize: Number.POSITIVE_INFINITY,
        metadata: { filename: 'tus.tar' },
        retryDelays: Array(10).fill(50),
        onError: reject,
        onSuccess: () => resolve(upload.url),
      })
      upload.start()
    })
    proxy.pass()
    const source = `upload:${url.split('/').at(-1)}`
    const image = await services.runtime().deployImage({ edgeAccessToken: services.token, source })
    expect(image).toMatchObject({ name: 'tus' })
    await remove(image.id)
  })
})

describe('the uploads of the runtime', () => {
  const tus = { 'Tus-Resumable': '1.0.0' }
  const bytes = { ...tus, 'Content-Type': 'application/offset+octet-stream' }
  const begin = (length: string) =>
    services.call(mcmPaths.uploads, { method: 'POST', headers: { ...tus, 'Upload-Length': length } })

  it('are of curl as well', () => {
    const { path, size } = archiveOf('curl', 1000)
    const curl = (...args: string[]) =>
      execFileSync('curl', ['-sS', '-H', `Authorization: Bearer ${services.token}`, ...args], {
        encoding: 'utf8',
      })
    const url = services.url() + mcmPaths.uploads
    const created = curl(
      '-i',
      '-X',
      'POST',
      '-H',
      'Tus-Resumable: 1.0.0',
      '-H',
      `Upload-Length: ${size}`,
      url,
    )
    expect(created).toMatch(/^HTTP\/1.1 201/)
    const place = services.url() + /location: (\S+)/i.exec(created)![1]!
    const type = `Content-Type: ${bytes['Content-Type']}`
    const patched = curl('-i', '-X', 'PATCH', '-H', type, '-H', 'Upload-Offset: 0', '-T', path, place)
    expect(patched).toMatch(/HTTP\/1.1 204[\s\S]*upload-offset: \d+/i)
    expect(JSON.parse(curl(place))).toEqual({
      ...{ handle: `upload:${place.split('/').at(-1)}`, offset: size, length: size },
    })
    expect(curl('-i', '-X', 'DELETE', place)).toMatch(/^HTTP\/1.1 204/)
    expect(curl('-o', '/dev/null', '-w', '%{http_code}', '-I', place)).toBe('404')
  })

  it.each<[string, string, Record<string, string>, number]>([
    ['no length', 'POST', tus, 400],
    ['a length that is no number', 'POST', { ...tus, 'Upload-Length': '1e3' }, 400],
    ['a negative length', 'POST', { ...tus, 'Upload-Length': '-1' }, 400],
    ['more than an image may have', 'POST', { ...tus, 'Upload-Length': '9'.repeat(15) }, 400],
    ['a length of 30 digits', 'POST', { ...tus, 'Upload-Length': '9'.repeat(30) }, 400],
    ['another version', 'POST', { 'Tus-Resumable': '0.2.2', 'Upload-Length': '3' }, 412],
    ['another type', 'PATCH', { ...bytes, 'Content-Type': 'text/plain', 'Upload-Offset': '0' }, 400],
    ['no offset', 'PATCH', bytes, 400],
    ['another offset', 'PATCH', { ...bytes, 'Upload-Offset': '1' }, 409],
    [
      'more bytes than were announced',
      'PATCH',
      { ...bytes, 'Upload-Offset': '0', 'Content-Length': '4' },
      400,
    ],
    ['another version of bytes', 'PATCH', { ...bytes, 'Tus-Resumable': '2', 'Upload-Offset': '0' }, 412],
  ])('refuse %s', async (_, method, headers, status) => {
    const { location } = (await begin('3')).headers
    const path = method === 'POST' ? mcmPaths.uploads : String(location)
    const answer = await services.call(path, { method, headers, ...(method === 'PATCH' && { body: 'four' }) })
    expect({ status: answer.status, version: answer.headers['tus-resumable'] }).toEqual({
      ...{ status, version: '1.0.0' },
    })
    expect(JSON.parse(answer.text).error.message).not.toBe('')
    expect((await services.call(String(location), { method: 'HEAD' })).headers['upload-offset']).toBe('0')
    expect((await services.call(String(location), { method: 'DELETE' })).status).toBe(204)
  })

  it.each([
    ['an unknown name', '/x'],
    ['a way out of their folder', '/..%2fimages'],
    ['a zero byte', '/%00'],
    ['5,000 characters', `/${'a'.repeat(5000)}`],
  ])('have no upload at %s', async (_, path) => {
    const answer = await services.call(mcmPaths.uploads + path, { method: 'HEAD' })
    expect(answer.status).toBe(404)
    expect(services.runtimeErrors()).not.toMatch(/internal|unhandled/i)
  })
})
