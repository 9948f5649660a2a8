/** One running function: its process, its sockets, its storage. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { basename } from 'node:path'
import { hostPaths, RpcError } from '@selvedge/protocol'
import { caughtFailures, inBackground, safely } from '@selvedge/service-kit/safely'
import type { Blobs } from '../../images/blobs.ts'
import type { Ending, Instance, Plan, StorageSession } from '../engine.ts'
import { isDiskFull, isShortage } from '../shortage.ts'
import type { Cgroup } from './cgroup.ts'
import { type Asked, type ControlLine, openControlLine, type Sender } from './control-line.ts'
import { createInstanceFolder, type InstanceFolder } from './instance-folder.ts'
import { lifelineDescriptor, releaseLifeline } from './lifeline.ts'
import { awaitEnd, type ProgramEnd } from './output.ts'
import { type CommandLine, commandLine, environment, type Sandbox, userOf } from './sandbox.ts'
import { textSecrets } from './secrets.ts'
import { watchMemory } from './watch-memory.ts'

const defaultMemoryMb = 128
const megabyte = 1024 * 1024
/** Milliseconds that a program without a control line has to end by itself. */
const closedGraceMs = 5000

interface Starting {
  readonly plan: Plan
  readonly sandbox: Sandbox
  readonly blobs: Blobs
  readonly folder: InstanceFolder
  readonly user: number | undefined
  readonly storage: StorageSession
  /** Values by name. */
  readonly secrets: ReadonlyMap<string, string>
  readonly undo: Undo
}

/**
 * Starts the host program of one instance in its sandbox. Resolves once the function answers on its socket.
 *
 * @param path of the instance's folder; it is made, and removed with the instance
 * @throws RpcError `container_failed`, `digest_mismatch`, or `storage_full` or `engine_unavailable` if the device has no room for it; then nothing
 *   is left of it
 */
export async function startInstance(
  plan: Plan,
  sandbox: Sandbox,
  path: string,
  blobs: Blobs,
): Promise<Instance> {
  const undo = createUndo()
  const user = sandbox.hasOwnUser ? userOf(path) : undefined
  let line: ControlLine | undefined
  try {
    const secrets = textSecrets(plan.secrets?.() ?? [])
    const folder = createInstanceFolder(path, user, user === undefined && !sandbox.hasBubblewrap)
    undo.add(folder.remove)
    const storage = await plan.host.openStorage({
      receive: async (change) => line?.sendChange(change),
      mayWrite: async (isAllowed) => line?.mayWrite(isAllowed),
    })
    undo.add(storage.close)
    const host = await plan.host.serve(folder.host, plan)
    undo.add(host.close)
    folder.share(folder.host)
    return await run({ plan, sandbox, blobs, folder, user, storage, secrets, undo }, (opened) => {
      line = opened
    })
  } catch (cause) {
    await undo.run()
    throw startFailure(cause)
  }
}

const notLoaded = ({ content, hideSecrets }: Plan, why: string): RpcError =>
  new RpcError(
    'container_failed',
    `index.${content.entry?.language} did not load: ${hideSecrets?.('runtime', why) ?? why}`,
  )

/** What the runtime could not do for a function is never the fault of the function, which has not begun. */
function startFailure(cause: unknown): RpcError {
  if (cause instanceof RpcError) return cause
  const { code, message, full } = cause as NodeJS.ErrnoException & { full?: boolean }
  const detail = `the function could not be started: ${message}`
  if (full === true || isDiskFull(code))
    return new RpcError('storage_full', detail, { cause, hint: 'Free disk space; the start is tried again.' })
  const hint = isShortage(code)
    ? 'Free memory, processes or file descriptors; the start is tried again.'
    : 'The start is tried again; "selvedge doctor" shows what is missing.'
  return new RpcError('engine_unavailable', detail, { cause, hint })
}

async function run(starting: Starting, onLine: (line: ControlLine) => void): Promise<Instance> {
  const { plan, sandbox, folder, storage, undo } = starting
  const { settings } = plan
  const memoryMb = settings['MCM.MEMORY_MB'] ?? defaultMemoryMb
  const started = Promise.withResolvers<boolean>()
  started.promise.catch(() => undefined)
  const fail = (cause: RpcError) => started.reject(cause)
  let program: Program | undefined
  let isListening = false
  let hasScheduled = false

  const line = await openControlLine(folder.control, settings['MCM.STORAGE_MB'] * megabyte, {
    onListening(own) {
      isListening = true
      // Not awaited: the program answers on this line while it is handed over.
      inBackground(
        'function.hand',
        hand(own, starting).catch((cause) => fail(startFailure(cause))),
      )
    },
    onReady: started.resolve,
    onBroken: (why) => fail(notLoaded(plan, why)),
    answer: (question) => answer(question, storage, plan),
    onViolation: (why) => program?.kill(why),
    onClosed() {
      const end = safely('function.closed', () => program?.kill('it closed its control line'))
      setTimeout(end, closedGraceMs).unref()
    },
  })
  undo.add(line.close)
  folder.share(folder.control)
  onLine(line)
  program = launch(starting, memoryMb)
  const { ended, kill } = program
  const stopping = createStop(line, kill)
  const gone = ended.then(async ({ why, reason, cause, isOfFunction }) => {
    // Before it listens, its code has not run: its sandbox or its control group failed.
    if (cause) fail(startFailure(cause))
    else if (isListening || isOfFunction) fail(new RpcError('container_failed', why))
    else fail(startFailure(new Error(why)))
    await undo.run()
    return { why, reason, ...stopping.forced() }
  })
  const seconds = settings['MCM.HEALTH_SEC']
  const late = safely('function.late', () =>
    fail(new RpcError('container_failed', `it did not listen within ${seconds} s (MCM.HEALTH_SEC)`)),
  )
  const timeout = setTimeout(late, seconds * 1000)
  try {
    hasScheduled = await started.promise
  } catch (cause) {
    kill((cause as Error).message)
    await gone
    throw cause
  } finally {
    clearTimeout(timeout)
  }
  return {
    upstream: { socketPath: folder.service },
    isolation: sandbox.layers,
    ended: gone,
    memory: program.memory,
    responds: line.ping,
    takeOver: storage.takeOver,
    ...(hasScheduled && { runScheduled: line.run }),
    stop: (graceSeconds) => stopping.stop(graceSeconds, gone),
  }
}

/** Stops a program: it is requested to exit, and killed after the grace. */
function createStop(line: Sender, kill: (why: string) => void) {
  let isForced = false
  return {
    forced: (): Pick<Ending, 'isForced'> => (isForced ? { isForced } : {}),
    /** @param gone resolves when it has exited */
    async stop(graceSeconds: number, gone: Promise<unknown>): Promise<void> {
      line.send({ stop: true }).catch(() => undefined)
      const byForce = safely('function.stop', () => {
        isForced = true
        kill(`it did not exit within ${Math.ceil(graceSeconds)} s, and was killed`)
      })
      const impatient = setTimeout(byForce, graceSeconds * 1000)
      await gone
      clearTimeout(impatient)
    },
  }
}

/** Hands the function over to its program: settings, storage, source. The source is verified before it may be loaded. */
async function hand(line: Sender, { plan, blobs, folder, storage, secrets }: Starting): Promise<void> {
  folder.takeOver()
  const { entry } = plan.content
  if (!entry) throw new RpcError('container_failed', 'the image is no function image')
  const { env, info, settings } = plan
  await line.send({
    start: {
      language: entry.language,
      env,
      info,
      quota: settings['MCM.STORAGE_MB'] * megabyte,
      openNodesPath: hostPaths.openNodes,
    },
  })
  for (const [secret, value] of secrets) await line.send({ secret, value })
  await storage.follow()
  for await (const chunk of blobs.read(entry.digest)) await line.sendSource(chunk)
  await line.send({ load: true })
}

async function answer(question: Asked, storage: StorageSession, { host }: Plan): Promise<unknown> {
  if ('identify' in question) return host.identityToken(question.identify)
  await storage.write(question)
}

interface Program {
  /** Ends it; the first reason is the one that is reported. */
  kill(why: string): void
  /** Resolves when it has exited; never rejects. */
  readonly ended: Promise<Ending & Pick<ProgramEnd, 'cause'> & { readonly isOfFunction: boolean }>
  memory(): Promise<number | null>
}

function launch({ plan, sandbox, folder, user, undo }: Starting, memoryMb: number): Program {
  const { settings } = plan
  const memoryBytes = memoryMb * megabyte
  const limits = { memoryBytes, cpus: settings['MCM.CPU'], pids: settings['MCM.PIDS'] }
  const group = sandbox.cgroups?.create(basename(folder.path), limits)
  if (group) undo.add(group.remove)
  const child = spawnHeld(commandLine(sandbox, folder, user, memoryMb, group?.joinFiles ?? []), sandbox)
  let endedBecause: string | undefined
  let isOverMemory = false
  const kill = (why: string) => {
    endedBecause ??= why
    child.kill('SIGKILL')
  }
  const overMemory = `it passed its memory limit of ${memoryMb} MiB (MCM.MEMORY_MB)`
  const endForMemory = () => {
    isOverMemory ||= endedBecause === undefined
    kill(overMemory)
  }
  if (!group && child.pid !== undefined) undo.add(watchMemory(child.pid, memoryBytes, endForMemory, sandbox))
  const ended = awaitEnd(child, plan).then(({ why, cause, isHeapFull }) => {
    isOverMemory ||= endedBecause === undefined && (isHeapFull || wasOutOfMemory(group))
    const isOfFunction = isOverMemory || endedBecause !== undefined
    const reason: Ending['reason'] = isOverMemory ? 'out_of_memory' : 'exited'
    return {
      reason,
      why: endedBecause ?? (isOverMemory ? overMemory : why),
      isOfFunction,
      ...(cause && { cause }),
    }
  })
  return { kill, ended, memory: async () => group?.memory() ?? memoryOf(child, sandbox) }
}

const wasOutOfMemory = (group: Cgroup | undefined): boolean => group?.wasOutOfMemory() ?? false

const memoryOf = async ({ pid }: ChildProcess, sandbox: Sandbox): Promise<number | null> =>
  pid === undefined ? null : sandbox.memoryOf(pid)

/** Descriptors that the program would inherit are replaced by one of nothing, so that the function finds only its own. */
function spawnHeld({ file, args }: CommandLine, { inheritable, needsLifeline }: Sandbox): ChildProcess {
  const nothing = openSync('/dev/null', 'r')
  try {
    const stdio: (string | number)[] = ['ignore', 'pipe', 'pipe']
    for (const each of inheritable) stdio[each] = nothing
    if (needsLifeline) stdio[lifelineDescriptor] = 'pipe'
    const child = spawn(file, args, {
      stdio: Array.from(stdio, (each) => each ?? null) as never,
      env: { PATH: process.env.PATH, ...environment },
    })
    if (needsLifeline) releaseLifeline(child)
    return child
  } finally {
    closeSync(nothing)
  }
}

interface Undo {
  add(step: () => unknown): void
  /** Runs the steps once, the last first. A step that fails is reported, and the others still run. */
  run(): Promise<void>
}

function createUndo(): Undo {
  const steps: (() => unknown)[] = []
  return {
    add: (step) => void steps.push(step),
    async run() {
      for (let step = steps.pop(); step; step = steps.pop()) {
        try {
          await step()
        } catch (cause) {
          caughtFailures.publish({ where: 'function.cleanup', cause })
        }
      }
    },
  }
}
