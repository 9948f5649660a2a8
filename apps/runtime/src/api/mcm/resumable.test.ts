/** The protocol tus over HTTP, on uploads that are on the disk. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { mcmPaths } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { openBlobs } from '../../services/images/blobs.ts'
import { openUploads, type Uploads } from '../../services/images/uploads.ts'
import { createRest, type RestParts } from '../rest/rest.ts'
import { type McmParts, mcmRoutes } from './routes.ts'

const owner = { account_id: 'a', client_id: 'c' }
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let server: Server
let uploads: Uploads
let begun: unknown[]
beforeEach(async () => {
  begun = []
  folder = await temporaryFolder()
  const clock = { now: () => Date.UTC(2026, 10, 28, 12) } as never
  uploads = await openUploads(
    join(folder.path, 'uploads'),
    await openBlobs(join(folder.path, 'images')),
    clock,
  )
  const ofImages = {
    ...{ ...uploads, maxSize: 123_456 },
    begin: (...args: Parameters<Uploads['begin']>) => {
      begun.push(args.slice(1))
      return uploads.begin(...args)
    },
    resume: (...[by, handle, from, content, end]: Parameters<McmParts['images']['uploads']['resume']>) =>
      uploads.resume(by, handle, from, () => content, end),
  }
  const rest = createRest(
    {
      authorize: async () => owner,
      nonce: () => 'n',
      onInternalError: () => 'internal',
    } as unknown as RestParts,
    [mcmRoutes({ images: { uploads: ofImages }, containers: {}, apps: {} } as unknown as McmParts)],
  )
  server = createServer((request, response) => void rest(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(async () => {
  server.close()
  server.closeAllConnections()
  await folder.remove()
})

const port = () => (server.address() as AddressInfo).port
const ask = (path: string, method: string, headers: Record<string, string> = {}, body?: string) =>
  fetch(`http://127.0.0.1:${port()}${path}`, {
    ...{ method, headers: { Authorization: 'Bearer t', ...headers } },
    ...(body !== undefined && { body }),
  })
const tus = { 'Tus-Resumable': '1.0.0' }
const bytes = { 'Content-Type': 'application/offset+octet-stream' }
const begin = async (length: string, headers: Record<string, string> = {}) =>
  ask(mcmPaths.uploads, 'POST', { ...tus, 'Upload-Length': length, ...headers })
const reasonOf = async (answer: Response) => ((await answer.json()) as { error: { message: string } }).error

describe('an upload by tus', () => {
  it('is described by OPTIONS, to those who may upload', async () => {
    const answer = await ask(mcmPaths.uploads, 'OPTIONS')
    const named = ['tus-resumable', 'tus-version', 'tus-extension', 'tus-max-size']
    expect([answer.status, ...named.map((name) => answer.headers.get(name))]).toEqual([
      ...[204, '1.0.0', '1.0.0', 'creation,expiration,termination', '123456'],
    ])
    const url = `http://127.0.0.1:${port()}${mcmPaths.uploads}`
    expect((await fetch(url, { method: 'OPTIONS' })).status).toBe(401)
  })

  it('is created, sent, read and removed', async () => {
    const created = await begin('6')
    const place = created.headers.get('location')!
    expect([created.status, place]).toEqual([
      201,
      expect.stringMatching(/^\/mcm\/v1\/uploads\/[0-9a-f-]{36}$/),
    ])
    const handle = `upload:${place.split('/').at(-1)}`
    expect(await created.json()).toEqual({ handle, offset: 0, length: 6 })
    const sent = await ask(place, 'PATCH', { ...tus, ...bytes, 'Upload-Offset': '0' }, 'abc')
    expect(sent.status).toBe(204)
    const more = await ask(place, 'PATCH', { ...bytes, 'Upload-Offset': '3' }, 'def')
    expect(more.headers.get('upload-offset')).toBe('6')
    const head = await ask(place, 'HEAD', tus)
    const named = ['upload-offset', 'upload-length', 'upload-expires', 'cache-control', 'tus-resumable']
    expect(named.map((name) => head.headers.get(name))).toEqual([
      ...['6', '6', 'Sat, 28 Nov 2026 13:00:00 GMT', 'no-store', '1.0.0'],
    ])
    expect(await (await ask(place, 'GET')).json()).toEqual({ handle, offset: 6, length: 6 })
    expect((await ask(place, 'DELETE', tus)).status).toBe(204)
    expect((await ask(place, 'HEAD', tus)).status).toBe(404)
  })

  it('has what a connection brought before it broke', async () => {
    const place = (await begin('9')).headers.get('location')!
    const client = connect(port(), '127.0.0.1').on('error', () => undefined)
    client.write(
      `PATCH ${place} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\nContent-Type: ${bytes['Content-Type']}\r\nUpload-Offset: 0\r\nContent-Length: 9\r\n\r\nabc`,
    )
    // It is not closed: the next request ends it.
    const closed = once(client, 'close')
    const stored = join(folder.path, 'uploads', place.split('/').at(-1)!)
    await expect.poll(() => readFileSync(stored, 'utf8')).toBe('abc')
    const offset = async () => (await ask(place, 'HEAD')).headers.get('upload-offset')
    expect(await offset()).toBe('3')
    await closed
    await ask(place, 'PATCH', { ...bytes, 'Upload-Offset': '3' }, 'defghi')
    expect(await offset()).toBe('9')
  })

  it.each<[string, string | undefined, string]>([
    ['as Base64', 'web.tar', 'filename d2ViLnRhcg=='],
    ['among others', 'web.tar', 'kind YQ==,filename d2ViLnRhcg==,empty'],
    ['after a space', 'web.tar', 'kind YQ==, filename d2ViLnRhcg=='],
    ['under another name', undefined, 'xfilename d2ViLnRhcg=='],
    ['without a value', undefined, 'filename'],
    ['that is no Base64', undefined, 'filename web.tar'],
    ['of 256 characters', undefined, `filename ${btoa('a'.repeat(256))}`],
    ['of 255 characters', 'a'.repeat(255), `filename ${btoa('a'.repeat(255))}`],
    ['of 10,000 characters', undefined, `filename ${'A'.repeat(10_000)}`],
  ])('has the name of a file %s', async (_, name, metadata) => {
    expect((await begin('1', { 'Upload-Metadata': metadata })).status).toBe(201)
    expect(begun).toEqual([[1, name]])
  })

  it.each<[string, string, RegExp]>([
    ['that is no number', 'a', /^upload-length is "a"; send a number of bytes$/],
    ['that is empty', '', /^upload-length is/],
    ['of 16 digits', '1'.repeat(16), /^upload-length is/],
    ['with a sign', '+1', /^upload-length is/],
    ['in two forms', '1, 1', /^upload-length is/],
  ])('refuses a length %s', async (_, length, message) => {
    const answer = await begin(length)
    expect([answer.status, (await reasonOf(answer)).message]).toEqual([400, expect.stringMatching(message)])
  })

  it('refuses to begin without a length', async () => {
    const answer = await ask(mcmPaths.uploads, 'POST', tus)
    expect((await reasonOf(answer)).message).toBe('upload-length is missing; send a number of bytes')
  })

  it.each(['POST', 'GET', 'PATCH', 'DELETE'])('refuses %s in another version', async (method) => {
    const place = (await begin('1')).headers.get('location')!
    const headers = { ...bytes, 'Tus-Resumable': '0.2.2', 'Upload-Length': '1', 'Upload-Offset': '0' }
    const answer = await ask(method === 'POST' ? mcmPaths.uploads : place, method, headers)
    expect([answer.status, answer.headers.get('tus-version')]).toEqual([412, '1.0.0'])
    expect((await reasonOf(answer)).message).toBe('the version of tus is "0.2.2"; send 1.0.0')
    expect((await ask(place, 'HEAD')).status).toBe(200)
  })

  it.each<[string, Record<string, string>, string]>([
    ['no type', { 'Upload-Offset': '0', 'Content-Type': '' }, 'the content type is'],
    [
      'another type',
      { 'Upload-Offset': '0', 'Content-Type': 'text/plain' },
      'the content type is "text/plain"; send',
    ],
    ['no offset', bytes, 'upload-offset is missing'],
    ['another offset', { ...bytes, 'Upload-Offset': '1' }, 'the next byte of the upload is 0, not 1'],
  ])('refuses bytes with %s', async (_, headers, message) => {
    const place = (await begin('1')).headers.get('location')!
    expect((await reasonOf(await ask(place, 'PATCH', headers, 'a'))).message).toContain(message)
    expect((await ask(place, 'HEAD')).headers.get('upload-offset')).toBe('0')
  })
})
