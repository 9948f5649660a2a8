/** Runs function images: one Deno process an instance, with nothing allowed but its own sockets, in every layer that the host has. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import type { Blobs } from '../../images/blobs.ts'
import type { Engine, Instance, Plan } from '../engine.ts'
import { openCgroups } from './cgroup.ts'
import { createLineReader, type FromFunction, sockets, type ToFunction } from './control.ts'
import { findDeno } from './find-deno.ts'
import { memoryOfTree, watchMemory } from './memory.ts'
import { commandLine, findSandbox, type Sandbox } from './sandbox.ts'

const defaultMemoryMb = 128
/** Longest line of a log that is taken as one. */
const maxLine = 8192
/** Milliseconds in which a program that reacts at all answers a ping. */
const pingPatience = 1000
const nobody = 65_534

export interface FunctionEngineParts {
  /** Of the runtime; two runtimes on one machine keep apart by it. */
  readonly state: string
  /** The bundled host program. */
  readonly program: string
  readonly blobs: Blobs
}

export function createFunctionEngine({ state, program, blobs }: FunctionEngineParts): Engine {
  const name = `selvedge-${createHash('sha256').update(state).digest('hex').slice(0, 12)}`
  const folder = join(tmpdir(), name)
  let found: Promise<Sandbox> | undefined
  let instances = 0

  function sandbox(): Promise<Sandbox> {
    found ??= (async () => {
      const deno = findDeno()
      if (deno === undefined) {
        throw new RpcError(
          'engine_unavailable',
          `there is no Deno for ${process.platform} on ${process.arch}`,
          {
            hint: 'Install the package @deno/linux-x64-glibc or @deno/linux-arm64-glibc; other systems run OCI images only.',
          },
        )
      }
      return findSandbox(deno, program, name)
    })()
    found.catch(() => {
      found = undefined
    })
    return found
  }

  return {
    async start(plan) {
      const held = await sandbox()
      openFolder(folder)
      return startInstance(plan, held, join(folder, String(++instances)), blobs)
    },
    adopt: async () => undefined,
    async recover() {
      // What an earlier run started ended with it. Where the kernel could not see to that, its group or its sockets tell.
      openCgroups(name)?.removeAll()
      rmSync(folder, { recursive: true, force: true })
    },
    removeData: async () => undefined,
    removeImage: async () => undefined,
    async describe() {
      try {
        const { layers, hints, deno } = await sandbox()
        return { available: true, detail: deno, isolation: layers, hints }
      } catch (cause) {
        const { message, hint } = cause as RpcError
        return { available: false, detail: message, isolation: [], hints: [hint] }
      }
    },
  }
}

/** A folder that only this user can have made; others may pass through it, which the sandboxed user needs. */
function openFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  const { uid } = lstatSync(folder)
  if (!lstatSync(folder).isDirectory() || uid !== process.getuid?.()) {
    throw new RpcError('engine_unavailable', `${folder} is not of this user`, {
      hint: `Somebody else made it: remove it, or set TMPDIR to a folder of your own.`,
    })
  }
  chmodSync(folder, 0o711)
}

async function startInstance(plan: Plan, sandbox: Sandbox, folder: string, blobs: Blobs): Promise<Instance> {
  const { settings, content, host } = plan
  const { entry } = content
  if (!entry) throw new RpcError('container_failed', 'the image is no function image')
  const memoryMb = settings['MCM.MEMORY_MB'] ?? defaultMemoryMb
  const limits = {
    memoryBytes: memoryMb * 1024 * 1024,
    cpus: settings['MCM.CPU'],
    pids: settings['MCM.PIDS'],
  }
  mkdirSync(folder, { mode: 0o700 })
  const group = sandbox.cgroups?.create(folder.split('/').at(-1)!, limits)
  const socketOf = (name: keyof typeof sockets) => join(folder, sockets[name])
  const source = blobs.read(entry.digest).toArray()
  let send: (message: ToFunction) => void = () => undefined
  const storage = await host.openStorage((changed) => send({ changed }))

  let resolveStarted: () => void = () => undefined
  let rejectStarted: (cause: string) => void = () => undefined
  const started = new Promise<void>((resolve, reject) => {
    resolveStarted = resolve
    rejectStarted = (why) => reject(new RpcError('container_failed', why))
  })
  started.catch(() => undefined)
  const pings = new Map<number, () => void>()

  async function onMessage(message: FromFunction): Promise<void> {
    if ('ready' in message) resolveStarted()
    else if ('broken' in message)
      rejectStarted(`index.${entry!.language} did not load: ${message.broken.slice(0, 500)}`)
    else if ('pong' in message) pings.get(message.pong)?.()
    else if ('write' in message) {
      await storage.write(message.change).then(
        () => send({ done: message.write }),
        (cause: Error) => send({ failed: message.write, reason: cause.message }),
      )
    } else if ('identify' in message) {
      try {
        send({ done: message.identify, value: host.identityToken(message.audience) })
      } catch (cause) {
        send({ failed: message.identify, reason: (cause as Error).message })
      }
    }
  }

  const control = createServer((socket: Socket) => {
    control.close()
    send = (message) => void socket.write(`${JSON.stringify(message)}\n`)
    const limit = settings['MCM.STORAGE_MB'] * 1024 * 1024 * 2 + 65_536
    let received = 0
    const read = createLineReader((line) => {
      received = 0
      try {
        void onMessage(JSON.parse(line) as FromFunction)
      } catch {
        socket.destroy()
      }
    })
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      received += text.length
      if (received > limit) socket.destroy()
      else read(text)
    })
    socket.on('error', () => undefined)
    source.then(
      (chunks) =>
        send({
          start: {
            language: entry.language,
            source: Buffer.concat(chunks as Buffer[]).toString('base64'),
            env: plan.env,
            info: plan.info,
            storage: storage.items,
            quota: settings['MCM.STORAGE_MB'] * 1024 * 1024,
            timeLimitMs: settings['MCM.MAX_EXECUTION_TIME_SEC'] * 1000,
          },
        }),
      (cause: Error) => rejectStarted(`the image can't be read: ${cause.message}`),
    )
  })
  await new Promise<void>((resolve, reject) => {
    control.once('error', reject)
    control.listen(socketOf('control'), resolve)
  })
  const hostListener = await host.serve(socketOf('host'), plan)
  if (process.getuid?.() === 0 && sandbox.hasBubblewrap)
    for (const path of [folder, socketOf('control'), socketOf('host')]) chownSync(path, nobody, nobody)

  const { file, args } = commandLine(sandbox, folder, { ...settings, memoryMb }, group?.joinFiles ?? [])
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, DENO_DIR: '/dev/null', NO_COLOR: '1' },
  })
  const lastWords: string[] = []
  for (const stream of ['stdout', 'stderr'] as const) {
    const read = createLineReader((line) => {
      plan.log(stream, line.slice(0, maxLine))
      if (stream === 'stderr' && line !== '') lastWords.push(line)
      if (lastWords.length > 5) lastWords.shift()
    }, maxLine)
    child[stream].setEncoding('utf8').on('data', read)
  }

  let endedBecause: string | undefined
  const stopWatching = group
    ? () => undefined
    : watchMemory(child.pid ?? -1, limits.memoryBytes, (bytes) =>
        kill(`it used ${bytes} bytes of memory; its limit is ${limits.memoryBytes} (MCM.MEMORY_MB)`),
      )
  const ended = new Promise<string>((resolve) => {
    child.on('error', (cause) => resolve(`it could not be started: ${cause.message}`))
    child.on('close', (code, signal) => {
      const heap = lastWords.some((line) => /heap out of memory|heap limit/i.test(line))
      if (heap || group?.wasOutOfMemory())
        endedBecause ??= `it passed its memory limit of ${limits.memoryBytes} bytes (MCM.MEMORY_MB)`
      const words = lastWords.length > 0 ? `: ${lastWords.join(' | ').slice(0, 500)}` : ''
      resolve(endedBecause ?? `it ended with ${signal ?? `exit code ${code}`}${words}`)
    })
  }).then(async (why) => {
    stopWatching()
    rejectStarted(why)
    control.close()
    storage.close()
    await hostListener.close()
    group?.remove()
    rmSync(folder, { recursive: true, force: true })
    return why
  })
  function kill(why: string): void {
    endedBecause ??= why
    child.kill('SIGKILL')
  }

  const limitMs = settings['MCM.HEALTH_SEC'] * 1000
  const timeLimit = setTimeout(
    () => kill(`it did not listen within ${limitMs / 1000} s (MCM.HEALTH_SEC)`),
    limitMs,
  )
  try {
    await started
  } catch (cause) {
    kill((cause as Error).message)
    await ended
    throw cause
  } finally {
    clearTimeout(timeLimit)
  }

  let lastPing = 0
  return {
    upstream: { socketPath: socketOf('service') },
    isolation: sandbox.layers,
    ended,
    memory: async () => group?.memory() ?? memoryOfTree(child.pid!),
    responds: () =>
      new Promise((resolve) => {
        const id = ++lastPing
        const timer = setTimeout(() => answer(false), pingPatience)
        const answer = (alive: boolean) => {
          clearTimeout(timer)
          pings.delete(id)
          resolve(alive)
        }
        pings.set(id, () => answer(true))
        send({ ping: id })
      }),
    async stop(graceSeconds) {
      send({ stop: true })
      const impatient = setTimeout(() => kill('it was stopped by force'), graceSeconds * 1000)
      await ended
      clearTimeout(impatient)
    },
  }
}
