/** Redis with its log of changes, synced once a second: what came in the last second it acknowledges, and may lose. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@selvedge/service-kit/testing'
import type { PartView, Subject } from '../subject.ts'
import { recordControl } from './controls.ts'

const settings = (port: number, folder: string, fsync: string): string[] => [
  ...['redis-server', '--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
  ...['--save', '', '--appendonly', 'yes', '--appendfsync', fsync, '--loglevel', 'warning'],
]

/** Its connection, once it listens. */
async function connectTo(port: number, isEnded: () => boolean): Promise<Socket> {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    socket.setNoDelay(true)
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    if (isOpen) return socket
    if (isEnded()) throw new Error('redis-server ended')
    await sleep(10)
  }
}

function ask(socket: Socket, words: readonly string[]): Promise<string> {
  socket.write(
    `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`,
  )
  return new Promise((resolve, reject) => {
    // It listens before it has read its files, and may end while it reads them.
    const onClose = () => reject(new Error('redis-server does not start'))
    socket.once('close', onClose)
    socket.once('data', (answer) => {
      socket.off('close', onClose)
      resolve(answer.toString())
    })
  })
}

/** Starts Redis on what a cut left. */
async function read(folder: string): Promise<PartView> {
  const port = await freePort()
  const [command = '', ...args] = settings(port, folder, 'no')
  const child = spawn(command, args, { stdio: 'ignore' })
  const ended = once(child, 'exit')
  try {
    const socket = await connectTo(port, () => child.exitCode !== null)
    // While it reads its files it answers LOADING.
    let size = await ask(socket, ['DBSIZE'])
    while (size.startsWith('-LOADING')) size = await ask(socket, ['DBSIZE'])
    socket.destroy()
    return { facts: Number(size.slice(1)), alarms: [] }
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}

export const createRedis = (fsync: 'everysec' | 'always', steps: number): Subject => ({
  name: `Redis, appendfsync ${fsync}`,
  parts: [{ name: 'keys', owns: () => true, read }],
  contradictions: () => [],
  async record() {
    const port = await freePort()
    return recordControl(
      (folder) => settings(port, folder, fsync),
      async (child) => {
        const socket = await connectTo(port, () => child.exitCode !== null)
        for (let step = 1; step <= steps; step++) await ask(socket, ['SET', `step ${step}`, 'x'.repeat(step)])
        socket.destroy()
        child.kill('SIGTERM')
        await once(child, 'exit')
      },
      ({ operations }) =>
        operations.filter(
          (each) => each.kind === 'answer' && each.to.startsWith('TCP') && each.data.toString() === '+OK\r\n',
        ),
      // Steps are stored in their order.
      (view, step) => (view.keys as number) >= step,
    )
  },
})
