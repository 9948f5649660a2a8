/** Uploads to servers that answer before they have read the archive, and close the connection. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mcmPaths } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { uploadImage } from './upload-image.ts'

const megabyte = 1024 * 1024
/** More than the buffers between the two programs hold. */
const archiveBytes = 24 * megabyte

let folder: string
let archive: string
let server: Server
/** Bytes that the server has received. */
let received: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-upload-'))
  archive = join(folder, 'archive.tar')
  writeFileSync(archive, '')
  truncateSync(archive, archiveBytes)
  received = 0
})
afterEach(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

/** Listens with a raw server. @param onData called with each piece, and what has come so far */
async function listen(onData: (socket: Socket, text: string) => void, over: 'TCP' | 'a Unix socket') {
  server = createServer((socket) => {
    let text = ''
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      // It knows no uploads in parts.
      if (chunk.toString('latin1').startsWith(`POST ${mcmPaths.uploads} `))
        return void socket.end(answer(404, { error: { reason: 'not_found', message: 'no uploads' } }))
      received += chunk.length
      if (text.length < 64 * 1024) text += chunk.toString('latin1')
      onData(socket, text)
    })
  })
  const socketPath = join(folder, 'socket')
  if (over === 'TCP') server.listen(0, '127.0.0.1')
  else server.listen(socketPath)
  await once(server, 'listening')
  if (over !== 'TCP') return { url: 'http://localhost', socketPath, edgeAccessToken: 'x' }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, edgeAccessToken: 'x' }
}

const answer = (status: number, value: unknown, headers = 'Connection: close') => {
  const body = JSON.stringify(value)
  return `HTTP/1.1 ${status} Answer\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${headers}\r\n\r\n${body}`
}
const full = answer(507, { error: { code: 507, reason: 'storage_full', message: 'the disk is full' } })
const refusal = { kind: 'rpc', reason: 'storage_full', message: 'the disk is full' }

describe.each(['TCP', 'a Unix socket'] as const)('over %s', (over) => {
  it('a server that answers the headers and closes: its reason is the error, and nothing of the archive is sent', async () => {
    const connection = await listen((socket) => socket.end(full, () => socket.destroy()), over)
    for (let times = 0; times < 20; times++)
      await expect(uploadImage(connection, archive)).rejects.toMatchObject(refusal)
    expect(received).toBeLessThan(20 * 1024)
  })

  it('a server that does not know Expect gets the archive all the same', async () => {
    const connection = await listen((socket) => {
      if (received > archiveBytes) socket.end(answer(200, { id: 'sent' }))
    }, over)
    expect(await uploadImage(connection, archive)).toEqual({ id: 'sent' })
  })

  it('a server that answers while the archive comes, and reads on: its reason is the error', async () => {
    let isAnswered = false
    const connection = await listen((socket, text) => {
      if (received < 2000 && text.includes('\r\n\r\n')) socket.write('HTTP/1.1 100 Continue\r\n\r\n')
      if (received > megabyte && !isAnswered) {
        isAnswered = true
        socket.write(full)
      }
    }, over)
    await expect(uploadImage(connection, archive)).rejects.toMatchObject(refusal)
    expect(received).toBeLessThan(archiveBytes)
  })

  it('a server that closes without an answer is neither EPIPE nor "not running"', async () => {
    const connection = await listen((socket) => {
      if (received > megabyte) socket.destroy()
    }, over)
    await expect(uploadImage(connection, archive)).rejects.toMatchObject({
      reason: 'bad_answer',
      message: expect.stringMatching(
        new RegExp(
          `^the runtime closed the connection without an answer, after [1-9]\\d* of ${archiveBytes} bytes`,
        ),
      ),
    })
  })

  it('a server that closes within its answer is no answer', async () => {
    const connection = await listen((socket) => socket.end(full.slice(0, -5)), over)
    await expect(uploadImage(connection, archive)).rejects.toMatchObject({
      reason: 'bad_answer',
      message: expect.stringContaining('closed the connection within its answer'),
    })
  })
})

it('nothing that listens is "not running"', async () => {
  const connection = await listen(() => undefined, 'TCP')
  server.close()
  await once(server, 'close')
  await expect(uploadImage(connection, archive)).rejects.toMatchObject({ reason: 'not_running' })
})

it('reports a file that cannot be read as such', async () => {
  let isClosed = false
  const connection = await listen((socket) => {
    socket.once('close', () => {
      isClosed = true
    })
    socket.write('HTTP/1.1 100 Continue\r\n\r\n')
  }, 'TCP')
  await expect(uploadImage(connection, folder)).rejects.toMatchObject({
    reason: 'aborted',
    message: expect.stringContaining(`can't read ${folder}`),
    cause: expect.any(Error),
  })
  await expect.poll(() => isClosed).toBe(true)
})
