/** What the campaign does with each program: deploys it, uses it, deploys it again, and restarts the runtime. */
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { ContainerRecord } from '@selvedge/protocol'
import { freePort } from '@selvedge/service-kit/testing'
import { packFolder } from '../../../apps/cli/src/archive/pack.ts'
import type { Docker } from '../../harness/docker.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import { root } from '../../harness/processes.ts'
import { startDocker } from './docker.ts'
import { type Isolation, isolationOf, isolationOfDocker, isolationOfPodman } from './isolation.ts'

/** A program that runs, as a check of it sees it. */
interface Running {
  /** The answer of a path below that of the service at the gateway. @throws Error with the status if that is not 2xx */
  http(
    path: string,
    init?: { method?: string; body?: string; headers?: Record<string, string> },
  ): Promise<string>
  /** The port of the loopback that leads to the container. */
  readonly port: number
  /** Runs a program in the container. @returns what it printed */
  exec(...command: readonly string[]): string
  /**
   * Deploys a function of `tests/system/services/npm-packages/functions`, which reaches `port` of the loopback, and calls it.
   *
   * @param env of the function
   * @returns what it answered
   */
  callFunction(name: string, env: Readonly<Record<string, string>>): Promise<string>
}

/** A program of the list. */
export interface Program {
  readonly name: string
  /** How its public image starts it, in a few words. */
  readonly manner: string
  image(): Promise<Buffer> | Buffer
  /** The version of the program in the image. */
  version(): string
  /** Settings; `PORT` is replaced by a free port of the device, and `DEVICE` by the node of `device`. */
  readonly env?: Readonly<Record<string, string>>
  /** A device node that it gets; it exists until the function that is returned is called. */
  device?(node: string): Promise<() => void>
  /** Uses it as its clients do; repeated until it does not throw. */
  use(at: Running): Promise<void> | void
  /** What `use` does, in a few words. */
  readonly used: string
  /** Stores something, where the program stores anything. */
  store?(at: Running): Promise<void> | void
  /** Expects what was stored; repeated until it does not throw. */
  stored?(at: Running): Promise<void> | void
}

export interface Row {
  readonly program: Program
  readonly version: string
  readonly isolation: Isolation
  readonly ofPodman: Isolation
  readonly ofDocker: Isolation
  /** Layers that the record of the container names. */
  readonly layers: readonly string[]
}

/** Milliseconds between two attempts, and how many there are: five minutes for a machine with other work. */
const attemptMs = 500
const attempts = 600

/** @throws what the last attempt threw */
export async function until(work: () => unknown): Promise<void> {
  for (let left = attempts; ; left--) {
    try {
      await work()
      return
    } catch (cause) {
      if (left === 0) throw cause
    }
    await sleep(attemptMs)
  }
}

/** Options of the runtime that stay for its life: each program has a node of its own. */
const nodeOf = ({ name }: Program): string =>
  `/dev/selvedge-field-${process.pid}-${name.replaceAll(/\W+/g, '-')}`

export interface Field {
  readonly stack: PodmanServices
  readonly docker: Docker
  readonly args: readonly string[]
  measure(program: Program, say: (text: string) => void): Promise<Row>
  close(): Promise<void>
}

export async function openField(programs: readonly Program[]): Promise<Field> {
  const stack = await startPodmanServices()
  const { podman, services } = stack
  const grants = programs
    .filter(({ device }) => device)
    .map((each) => `${nodeOf(each)} service=${services.developer.clientId}-${idOf(each)}`)
  const args = [
    `--oci.socket=${podman.socket}`,
    ...(grants.length > 0 ? [`--services.devices=${grants.join(',')}`] : []),
  ]
  await services.restart('SIGTERM', {}, args)
  const docker = await startDocker().catch(async (cause: unknown) => {
    await stack.stop()
    throw cause
  })
  return {
    stack,
    docker,
    args,
    measure: (program, say) => measure({ stack, docker, args }, program, say),
    async close() {
      await docker.stop()
      await stack.stop()
    },
  }
}

const idOf = ({ name }: Program): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')

async function measure(
  { stack, docker, args }: Pick<Field, 'stack' | 'docker' | 'args'>,
  program: Program,
  say: (text: string) => void,
): Promise<Row> {
  const { podman, services } = stack
  const unplug = await program.device?.(nodeOf(program))
  const port = await freePort()
  try {
    const archive = await program.image()
    const ofDocker = isolationOfDocker(docker, archive)
    // Making it blocks this process: connections that the runtime closed meanwhile are noticed in the next turns.
    await turn()
    await turn()
    const { id: image } = await services.deployImage(archive)
    say('image')
    const deploy = (more: Record<string, string> = {}) =>
      services.runtime().deployContainer({
        edgeAccessToken: services.token,
        spec: { name: idOf(program), image, env: { ...patient, ...settingsOf(program, port), ...more } },
      })
    const first = await deploy()
    say('deployed')
    const running = () => podman.run('ps', '--format', '{{.Names}}').trim()
    const at = runningAt(stack, first, port, running)
    await until(() => program.use(at))
    await program.store?.(at)
    say('used')
    const isolation = isolationOf(podman, running())
    const ofPodman = isolationOfPodman(podman, running())
    await deploy({ REVISION: '2' })
    await until(() => expectRevision(running(), 2))
    await until(() => program.use(at))
    await until(() => program.stored?.(at))
    say('redeployed')
    await services.restart('SIGTERM', {}, args)
    await until(() => expectRevision(running(), 2))
    await until(() => program.use(at))
    await until(() => program.stored?.(at))
    say('restarted')
    const layers = first.isolation ?? []
    return { program, version: program.version(), isolation, ofPodman, ofDocker, layers }
  } catch (cause) {
    say(podmanLogs(stack))
    throw cause
  } finally {
    await removeAll(stack)
    unplug?.()
  }
}

/** For a machine with other work; what the runtime has without them is in its own tests. */
const patient = { 'MCM.HEALTH_SEC': '300', 'MCM.STOP_SEC': '120' }

function settingsOf(program: Program, port: number): Record<string, string> {
  const fill = (value: string) => value.replaceAll('PORT', String(port)).replaceAll('DEVICE', nodeOf(program))
  return Object.fromEntries(Object.entries(program.env ?? {}).map(([name, value]) => [name, fill(value)]))
}

function runningAt(
  { services, podman }: PodmanServices,
  { basePath }: ContainerRecord,
  port: number,
  running: () => string,
): Running {
  return {
    port,
    exec: (...command) => podman.run('exec', running(), ...command).trim(),
    async http(path, init) {
      const { status, text } = await services.call(basePath + path, init)
      if (status < 200 || status > 299) throw new Error(`${path} answered ${status}: ${text.slice(0, 200)}`)
      return text
    },
    async callFunction(name, env) {
      const { archive } = await packFolder(join(functions, name), { name })
      const { id: image } = await services.deployImage(archive)
      const own = { ...env, 'MCM.OUTBOUND': `127.0.0.1:${port}`, 'MCM.ACCESS': 'public' }
      const spec = { name, image, env: own }
      const { basePath: base } = await services
        .runtime()
        .deployContainer({ edgeAccessToken: services.token, spec })
      const { status, text } = await services.call(base)
      if (status !== 200) throw new Error(`${name} answered ${status}: ${text.slice(0, 200)}`)
      return text
    },
  }
}

const functions = join(root, 'tests/system/services/npm-packages/functions')

function expectRevision(name: string, revision: number): void {
  if (!new RegExp(`^\\S+-r${revision}$`).test(name))
    throw new Error(`revision ${revision} does not run alone: ${name}`)
}

/** The last lines of all containers, for a program that failed. */
function podmanLogs({ podman }: PodmanServices): string {
  const names = podman.run('ps', '--all', '--format', '{{.Names}}').trim().split('\n').filter(Boolean)
  return names.map((name) => `${name}:\n${podman.logs(name).slice(-2000)}`).join('\n')
}

async function removeAll({ services, podman, removeContainers }: PodmanServices): Promise<void> {
  const edgeAccessToken = services.token
  await removeContainers()
  for (const { id } of await services.runtime().getImages({ edgeAccessToken }))
    await services.runtime().removeImage({ edgeAccessToken, id })
  podman.run('image', 'prune', '--all', '--force')
}
