import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { listenTcp, listenUnix } from './listen.ts'

const limits = { bodySeconds: 1, drainSeconds: 1 }
const hello = () => ({
  request: (_: unknown, response: { end(text: string): void }) => response.end('hello'),
})
const open = (addresses: readonly string[], port = 0) =>
  listenTcp({ addresses, port, portSetting: 'option "x"', authenticated: false, limits, listener: hello })
const ending: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const end of ending.splice(0)) await end()
})

describe('a TCP listener', () => {
  it('has the same port on every address', async () => {
    const listening = await open(['127.0.0.1', '127.0.0.2'])
    ending.push(listening.close)
    for (const address of ['127.0.0.1', '127.0.0.2']) {
      expect(await (await fetch(`http://${address}:${listening.port}/`)).text()).toBe('hello')
    }
  })

  it('leaves out an address that the machine does not have, unless it is the first', async () => {
    const listening = await open(['127.0.0.1', '::1'])
    ending.push(listening.close)
    expect(listening.port).toBeGreaterThan(0)
  })

  it('names the port that is in use, and what sets it', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    ending.push(() => other.close())
    const { port } = other.address() as AddressInfo
    await expect(open(['127.0.0.1'], port)).rejects.toThrow(
      `port ${port} is in use by another program; stop it or choose another port with option "x"`,
    )
  })

  it('ends a request that takes too long to arrive', async () => {
    const { port, close } = await open(['127.0.0.1'])
    ending.push(close)
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () =>
        socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\na'),
      )
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('close', () => resolve(text))
    })
    expect(answer).toMatch(/^HTTP\/1\.1 (200|408)/)
    const headers = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('POST / HTTP/1.1\r\nHost: x\r\nX-A: '))
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('close', () => resolve(text))
    })
    expect(headers).toMatch(/^HTTP\/1\.1 408/)
  })
})

describe('a Unix socket', () => {
  const folder = mkdtempSync(join(tmpdir(), 'unix-'))
  const path = join(folder, 'x.sock')
  const listener = hello() as never

  /** Leaves a socket behind that no process listens on. */
  async function leaveSocket(): Promise<void> {
    const program = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
    await once(spawn(process.execPath, ['-e', program]), 'exit')
    expect(lstatSync(path).isSocket()).toBe(true)
  }

  it('has its mode from the first moment, and replaces one where nothing answers', async () => {
    await leaveSocket()
    const listening = await listenUnix(path, 0o660, limits, listener)
    expect((statSync(path).mode & 0o777).toString(8)).toBe('660')
    await listening.close()
  })

  it('replaces nothing but a socket: a mistyped path removes no file', async () => {
    const target = join(folder, 'settings.json')
    writeFileSync(target, 'settings')
    const refused = () => expect(listenUnix(path, 0o600, limits, listener)).rejects.toThrow('is not a socket')
    writeFileSync(path, 'settings')
    await refused()
    expect(readFileSync(path, 'utf8')).toBe('settings')
    for (const to of [target, join(folder, 'nowhere'), folder]) {
      rmSync(path)
      symlinkSync(to, path)
      await refused()
      expect(lstatSync(path).isSymbolicLink()).toBe(true)
    }
    rmSync(path)
    mkdirSync(path)
    await refused()
    rmSync(path, { recursive: true })
    expect(readFileSync(target, 'utf8')).toBe('settings')
    expect(statSync(target).mode & 0o777).toBe(0o644)
  })

  it('does not replace one that answers', async () => {
    const listening = await listenUnix(path, 0o600, limits, listener)
    await expect(listenUnix(path, 0o600, limits, listener)).rejects.toThrow('another process answers')
    await listening.close()
  })

  it('does not replace one with a full queue of connections', async () => {
    const program = `
      require('node:net').createServer().listen({ path: ${JSON.stringify(path)}, backlog: 1 }, () => {
        require('node:fs').writeSync(1, 'listening')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
      })`
    const busy = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
    ending.push(() => busy.kill('SIGKILL'))
    await once(busy.stdout, 'data')
    let code: string | undefined
    while (code === undefined) {
      const socket = connect(path)
      ending.push(() => socket.destroy())
      code = await once(socket, 'connect').then(
        () => undefined,
        (cause: NodeJS.ErrnoException) => cause.code,
      )
    }
    expect(code).toBe('EAGAIN')
    await expect(listenUnix(path, 0o600, limits, listener)).rejects.toThrow('another process answers')
    expect(statSync(path).isSocket()).toBe(true)
    rmSync(path)
  })

  it('refuses a path that is too long, and names the limit', async () => {
    await expect(listenUnix(`/tmp/${'x'.repeat(120)}`, 0o600, limits, listener)).rejects.toThrow(
      'longer than 107 bytes',
    )
    rmSync(folder, { recursive: true, force: true })
  })
})
