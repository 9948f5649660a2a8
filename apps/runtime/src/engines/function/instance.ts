import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { RpcError } from '@selvedge/protocol'
import type { Blobs } from '../../images/blobs.ts'
import type { Instance, Plan, StorageSession } from '../engine.ts'
import type { Cgroup } from './cgroup.ts'
import { createLineReader, type FromFunction, sockets } from './control.ts'
import { type ControlLine, openControlLine } from './control-line.ts'
import { memoryOfTree, watchMemory } from './memory.ts'
import { commandLine, type Sandbox, userOf } from './sandbox.ts'

const defaultMemoryMb = 128
const megabyte = 1024 * 1024
/** Longest line of a log that is taken as one, and how many of the last ones tell why it ended. */
const maxLine = 8192
const lastLines = 5

/**
 * Starts the host program of one instance in its sandbox. Kept once the function answers on its socket.
 *
 * @param folder of the instance; it is made, and removed with it
 * @throws RpcError `container_failed`
 */
export async function startInstance(
  plan: Plan,
  sandbox: Sandbox,
  folder: string,
  blobs: Blobs,
): Promise<Instance> {
  const { settings, content, host } = plan
  const { entry } = content
  if (!entry) throw new RpcError('container_failed', 'the image is no function image')
  const memoryMb = settings['MCM.MEMORY_MB'] ?? defaultMemoryMb
  const memoryBytes = memoryMb * megabyte
  const quota = settings['MCM.STORAGE_MB'] * megabyte
  const socketOf = (name: keyof typeof sockets) => join(folder, sockets[name])
  mkdirSync(folder, { mode: 0o700 })

  const source = Readable.from(blobs.read(entry.digest)).toArray()
  const started = Promise.withResolvers<void>()
  started.promise.catch(() => undefined)
  const fail = (why: string) => started.reject(new RpcError('container_failed', why))
  let line: ControlLine | undefined
  const storage = await host.openStorage((changed) => line?.send({ changed }))

  line = await openControlLine({
    path: socketOf('control'),
    // Every character may be escaped, and a change may hold all that is stored.
    maxMessage: quota * 6 + 65_536,
    onConnected: ({ send }) =>
      void source.then(
        (chunks) =>
          send({
            start: {
              language: entry.language,
              source: Buffer.concat(chunks as Buffer[]).toString(entry.language === 'js' ? 'utf8' : 'base64'),
              env: plan.env,
              info: plan.info,
              storage: storage.items,
              quota,
            },
          }),
        (cause: Error) => fail(`the image can't be read: ${cause.message}`),
      ),
    onMessage(message, { send }) {
      if ('ready' in message) started.resolve()
      else if ('broken' in message)
        fail(`index.${entry.language} did not load: ${message.broken.slice(0, 500)}`)
      else void answer(message, storage, plan).then(send)
    },
  })
  const hostListener = await host.serve(socketOf('host'), plan)
  if (process.getuid?.() === 0 && sandbox.hasBubblewrap) chownSync(folder, userOf(folder), userOf(folder))

  const limits = { memoryBytes, cpus: settings['MCM.CPU'], pids: settings['MCM.PIDS'] }
  const group = sandbox.cgroups?.create(basename(folder), limits)
  const { file, args } = commandLine(sandbox, folder, memoryMb, group?.joinFiles ?? [])
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, NO_COLOR: '1', DENO_DIR: join(folder, 'deno') },
  })
  let endedBecause: string | undefined
  const kill = (why: string) => {
    endedBecause ??= why
    child.kill('SIGKILL')
  }
  const overMemory = `it passed its memory limit of ${memoryMb} MiB (MCM.MEMORY_MB)`
  const stopWatching = group
    ? () => undefined
    : watchMemory(child.pid ?? -1, memoryBytes, () => kill(overMemory))
  const ended = awaitEnd(child, plan, group, overMemory).then(async (why) => {
    stopWatching()
    fail(endedBecause ?? why)
    line.close()
    storage.close()
    await hostListener.close()
    await group?.remove()
    rmSync(folder, { recursive: true, force: true })
    return endedBecause ?? why
  })

  const seconds = settings['MCM.HEALTH_SEC']
  const patience = setTimeout(
    () => kill(`it did not listen within ${seconds} s (MCM.HEALTH_SEC)`),
    seconds * 1000,
  )
  try {
    await started.promise
  } catch (cause) {
    kill((cause as Error).message)
    await ended
    throw cause
  } finally {
    clearTimeout(patience)
  }

  return {
    upstream: { socketPath: socketOf('service') },
    isolation: sandbox.layers,
    ended,
    memory: async () => group?.memory() ?? memoryOfTree(child.pid!),
    responds: line.ping,
    async stop(graceSeconds) {
      line.send({ stop: true })
      const impatient = setTimeout(() => kill('it was stopped by force'), graceSeconds * 1000)
      await ended
      clearTimeout(impatient)
    },
  }
}

type Question = Extract<FromFunction, { write: number } | { identify: number }>

async function answer(question: Question, storage: StorageSession, { host }: Plan) {
  const id = 'write' in question ? question.write : question.identify
  try {
    if ('write' in question) await storage.write(question.change)
    return {
      done: id,
      ...('identify' in question && { value: host.identityToken(question.audience) }),
    }
  } catch (cause) {
    return { failed: id, reason: (cause as Error).message }
  }
}

/** Passes on what the program writes, and is kept with the reason in words once it has ended. */
function awaitEnd(
  child: ChildProcess,
  plan: Plan,
  group: Cgroup | undefined,
  overMemory: string,
): Promise<string> {
  const last: string[] = []
  for (const stream of ['stdout', 'stderr'] as const) {
    const read = createLineReader((text) => {
      plan.log(stream, text.slice(0, maxLine))
      if (stream === 'stderr' && text !== '') last.push(text)
      if (last.length > lastLines) last.shift()
    }, maxLine)
    child[stream]?.setEncoding('utf8').on('data', read)
  }
  return new Promise((resolve) => {
    child.on('error', (cause) => resolve(`it could not be started: ${cause.message}`))
    child.on('close', (code, signal) => {
      const isOver = group?.wasOutOfMemory() || last.some((text) => /out of memory|heap limit/i.test(text))
      const words = last.length > 0 ? `: ${last.join(' | ').slice(0, 500)}` : ''
      resolve(isOver ? overMemory : `it ended with ${signal ?? `exit code ${code}`}${words}`)
    })
  })
}
