/** Daemons with more connections than they may have descriptors: real sockets, few descriptors, the built programs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { identityPaths } from '@selvedge/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { adminOf } from '../../harness/flow.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'
import { callUrl } from '../../harness/services.ts'

const ending: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end()
})

/** A program with a limit of open descriptors. */
function limited(
  descriptors: number,
  args: readonly string[],
  env: Record<string, string> = {},
): ChildProcess {
  const child = spawn(
    '/bin/sh',
    ['-c', `ulimit -n ${descriptors} && exec "$0" "$@"`, process.execPath, ...args],
    { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], env: { PATH: process.env.PATH, ...env } },
  )
  ending.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return child
}

async function startTestDaemon(descriptors: number, connections: number) {
  const program = fileURLToPath(new URL('blocking-daemon.ts', import.meta.url))
  const child = limited(descriptors, ['--conditions=source', program, String(connections)])
  const [line] = await once(child.stdout!, 'data')
  return { pid: child.pid!, url: String(line).trim() }
}

async function startIdentity(descriptors: number) {
  const { path: state, remove } = await temporaryFolder()
  ending.push(remove)
  const child = limited(descriptors, [join(root, 'apps/identity/dist/main.cjs')], {
    SELVEDGE_STATE: state,
    SELVEDGE_IDENTITY_PORT: '0',
  })
  const [message] = (await once(child, 'message')) as [{ ready: { url: string } }]
  return { pid: child.pid!, url: message.ready.url, state }
}

interface Client {
  readonly socket: Socket
  closed: boolean
  text: string
}

/** Opens connections, some at a time, and sends a text on each. */
async function openAll(url: string, count: number, text = ''): Promise<Client[]> {
  const { port, hostname } = new URL(url)
  const clients: Client[] = []
  ending.push(() => closeAll(clients))
  for (let opened = 0; opened < count; ) {
    const batch: Promise<unknown>[] = []
    for (; batch.length < 100 && opened < count; opened++) {
      const socket = connect(Number(port), hostname)
      const client: Client = { socket, closed: false, text: '' }
      socket.on('data', (chunk) => {
        client.text += chunk
      })
      socket.on('error', () => undefined)
      socket.on('close', () => {
        client.closed = true
      })
      clients.push(client)
      batch.push(
        new Promise<void>((resolve) => {
          socket.once('connect', () => socket.write(text, () => resolve()))
          socket.once('close', () => resolve())
        }),
      )
    }
    await Promise.all(batch)
  }
  return clients
}

function closeAll(clients: readonly Client[]): void {
  for (const { socket } of clients) socket.destroy()
}

const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length
const isFine = async (url: string) => (await callUrl(url, {})).status === 200

/** Whether a process is found sleeping thirty times in a row: one that spins is running each time (proc_pid_stat(5)). */
async function comesToRest(pid: number): Promise<boolean> {
  const isSleeping = () => /\) S /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  for (let looks = 0, inRow = 0; looks < 3000; looks++) {
    inRow = isSleeping() ? inRow + 1 : 0
    if (inRow === 30) return true
    await sleep(10)
  }
  return false
}

describe('a daemon that may have 256 descriptors', () => {
  it('answers and stores while 2,000 clients open connections and send nothing', async () => {
    const { pid, url, state } = await startIdentity(256)
    const before = descriptorsOf(pid)
    const clients = await openAll(url, 2000)
    expect(await isFine(url + identityPaths.health)).toBe(true)
    const { accountId } = await adminOf(state)['account.create']({ email: 'idle@example.com' })
    expect(accountId).not.toBe('')
    expect(descriptorsOf(pid)).toBeLessThan(200)
    closeAll(clients)
    await expect.poll(() => descriptorsOf(pid)).toBeLessThanOrEqual(before + 5)
    expect(await isFine(url + identityPaths.health)).toBe(true)
  })

  it('answers and stores while 2,000 clients send their bodies slowly', async () => {
    const { pid, url, state } = await startIdentity(256)
    const before = descriptorsOf(pid)
    const slow = `POST ${identityPaths.token} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\na`
    const clients = await openAll(url, 2000, slow)
    expect(await isFine(url + identityPaths.health)).toBe(true)
    const { accountId } = await adminOf(state)['account.create']({ email: 'slow@example.com' })
    expect(accountId).not.toBe('')
    expect(descriptorsOf(pid)).toBeLessThan(200)
    closeAll(clients)
    await expect.poll(() => descriptorsOf(pid)).toBeLessThanOrEqual(before + 5)
  })
})

describe('the connections of a daemon', () => {
  it('have a limit: of 10,000 idle ones the longest unused end', async () => {
    const { pid, url } = await startTestDaemon(20_000, 1000)
    const clients = await openAll(url, 10_000)
    await expect.poll(() => clients.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(9000)
    expect(descriptorsOf(pid)).toBeLessThan(1100)
    expect(clients.slice(0, 8000).every(({ closed }) => closed)).toBe(true)
    expect(clients.slice(-900).some(({ closed }) => closed)).toBe(false)
    expect(await isFine(`${url}/vital`)).toBe(true)
  })

  it('that wait for an answer stay, and a new one beyond the limit is refused with 503 and Retry-After', async () => {
    const { url } = await startTestDaemon(1024, 20)
    const waiting = await openAll(url, 20, 'GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await expect.poll(() => waiting.every(({ text }) => text.includes('begun'))).toBe(true)
    const [refused] = await openAll(url, 1)
    await once(refused!.socket, 'close')
    expect(refused!.text).toMatch(/^HTTP\/1\.1 503 /)
    expect(refused!.text).toContain('Retry-After: 1')
    expect(waiting.some(({ closed }) => closed)).toBe(false)
    closeAll(waiting.slice(0, 5))
    await expect.poll(() => isFine(`${url}/vital`).catch(() => false)).toBe(true)
  })

  it('that were used lately stay when older ones end', async () => {
    const { url } = await startTestDaemon(1024, 32)
    const request = 'GET /vital HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const all = await openAll(url, 32, request)
    await expect.poll(() => all.every(({ text }) => text !== '')).toBe(true)
    const [used, ...unused] = all
    used!.socket.write(request)
    await once(used!.socket, 'data')
    await openAll(url, 20)
    await expect.poll(() => unused.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(16)
    expect(used!.closed).toBe(false)
  })

  it('may take all descriptors of the process: it does not end or spin, and accepts again when some are free', async () => {
    const { pid, url } = await startTestDaemon(64, 1000)
    const clients = await openAll(url, 300)
    expect(await comesToRest(pid)).toBe(true)
    closeAll(clients)
    await expect.poll(() => isFine(`${url}/vital`).catch(() => false)).toBe(true)
  })
})
