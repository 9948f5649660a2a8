/**
 * Where engines listen: Podman, Docker and balenaEngine as services of the system or of a user, and their virtual machines on other systems.
 * The runtime gives an engine the images and secrets of services, so it connects only to a socket that no other user could have made.
 */
import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { deniedMark } from './engine-hints.ts'

/** What a search follows; for tests. */
export interface SocketSurroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Folder of the user. */
  readonly home: string
  readonly temporary: string
  /** Where the system has sockets of services. */
  readonly system: string
}

const ownSurroundings = (): SocketSurroundings => ({
  env: process.env,
  home: homedir(),
  temporary: tmpdir(),
  system: '/',
})

/** Virtual machines of Podman that are looked at. */
const maxMachines = 16
/** Environment variables by which the command lines of engines find them, that of Podman first. */
const variables = ['CONTAINER_HOST', 'DOCKER_HOST'] as const
const scheme = 'unix://'

/** The path that a variable has; undefined for an engine on another machine (`ssh://`, `tcp://`), which the runtime does not use. */
function pathIn(value: string | undefined): string | undefined {
  if (value === undefined || !value.startsWith(scheme)) return undefined
  const path = value.slice(scheme.length)
  return isAbsolute(path) && !path.includes('\0') ? path : undefined
}

function machinesOf(home: string): string[] {
  const folder = join(home, '.local/share/containers/podman/machine')
  try {
    const names = readdirSync(folder).toSorted().slice(0, maxMachines)
    return [join(folder, 'podman.sock'), ...names.map((each) => join(folder, each, 'podman.sock'))]
  } catch {
    return []
  }
}

/** Paths of sockets that are searched, in this order; machines of Podman last, as only a search shows their names. */
function candidates({ env, home, temporary, system }: SocketSurroundings): string[] {
  const ofUser = env.XDG_RUNTIME_DIR
  return [
    ...variables.flatMap((each) => pathIn(env[each]) ?? []),
    ...(ofUser ? [join(ofUser, 'podman/podman.sock'), join(ofUser, 'docker.sock')] : []),
    ...['run/podman/podman.sock', 'run/docker.sock', 'var/run/docker.sock'].map((each) => join(system, each)),
    ...['run/balena-engine.sock', 'var/run/balena-engine.sock'].map((each) => join(system, each)),
    join(home, '.docker/run/docker.sock'),
    join(home, '.docker/desktop/docker.sock'),
    join(temporary, 'podman/podman-machine-default-api.sock'),
    ...machinesOf(home),
  ]
}

const isOwn = (uid: number): boolean => uid === 0 || uid === process.getuid?.()
const othersMayWrite = 0o022
const sticky = 0o1000

/**
 * Why a path must not be used: another user made the socket, or may replace it or a folder above it. In a folder with the sticky bit,
 * others replace nothing.
 *
 * @returns undefined for one that may be used
 */
function problemOf(path: string): string | undefined {
  const real = realpathSync(path)
  const socket = lstatSync(real)
  if (!socket.isSocket()) return 'it is no socket'
  if (!isOwn(socket.uid)) return `it belongs to another user (uid ${socket.uid})`
  // The link itself, too: its folder decides where it leads.
  for (const start of new Set([dirname(real), realpathSync(dirname(path))])) {
    for (let folder = start; ; folder = dirname(folder)) {
      const { uid, mode } = statSync(folder)
      if (!isOwn(uid)) return `another user (uid ${uid}) owns ${folder}`
      if ((mode & othersMayWrite) !== 0 && (mode & sticky) === 0) return `other users can write to ${folder}`
      if (folder === dirname(folder)) break
    }
  }
  const link = lstatSync(path)
  return isOwn(link.uid) ? undefined : `it is a link of another user (uid ${link.uid})`
}

export interface EngineSockets {
  /** The first that may be used. */
  readonly path: string | undefined
  /** All that were searched, with why one that is there may not be used. */
  readonly searched: readonly string[]
}

/** Finds the socket of an engine if the configuration has no path. Never throws. */
export function findEngineSocket(surroundings: SocketSurroundings = ownSurroundings()): EngineSockets {
  const searched: string[] = []
  for (const path of new Set(candidates(surroundings))) {
    try {
      const problem = problemOf(path)
      if (problem === undefined) return { path, searched }
      searched.push(`${path} (${problem})`)
    } catch (cause) {
      const isDenied = (cause as NodeJS.ErrnoException).code === 'EACCES'
      searched.push(isDenied ? `${path} ${deniedMark}` : path)
    }
  }
  return { path: undefined, searched }
}
