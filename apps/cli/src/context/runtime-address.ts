/** Where the runtime is, who named it, and whether the user has to confirm it. */
import { join, resolve } from 'node:path'
import { ConnectionFailure } from '@selvedge/client'
import { findSocket, installedFolders, type SocketFinding } from '@selvedge/client/node'
import { UsageError } from '../failure.ts'
import { readOwnFile, readPrivateFile } from './config-folder.ts'
import type { Unconfirmed } from './confirm.ts'
import type { NamedContext } from './contexts.ts'
import { readServiceUrl } from './service-url.ts'

export interface Env {
  readonly [name: string]: string | undefined
}

/** The state folder: the one that the user named, or the one of the current folder. */
export interface StateFolder {
  readonly path: string
  readonly isNamed: boolean
}

export interface Address {
  readonly url: string
  /** Unix socket to use instead of the host of the URL, and its path for messages. */
  readonly socketPath?: string
  readonly shownPath?: string
  /** Whether this is a socket of this user or root: what answers there is trusted to name its services. */
  readonly isOwnSocket: boolean
  /** Set where the user did not name the address. */
  readonly unconfirmed?: Unconfirmed
  /** API key of the runtime, from the file beside its socket. */
  readonly apiKey?: string | undefined
}

/** The URL that a runtime has by default, where nothing else is named and no socket is found. */
export const usualUrl = 'http://127.0.0.1:8083'

/** Where the Debian packages have their sockets, and the key of the runtime, which root alone can read there. */
const installedPaths: Readonly<Record<'runtime' | 'identity' | 'key', string>> = {
  ...installedFolders,
  key: '/var/lib/selvedge/api-key',
}

/** @throws UsageError for an empty `--state` */
export function readStateFolder(flag: string | undefined, env: Env): StateFolder {
  if (flag === '')
    throw new UsageError('--state is empty', 'Name a folder, such as --state /var/lib/selvedge')
  const named = flag ?? (env.SELVEDGE_STATE || undefined)
  return { path: named ?? './.selvedge', isNamed: named !== undefined }
}

/**
 * Where the runtime is: the URL that was named, the socket of the state folder, or, where neither was named, the usual URL. What
 * was named is used or fails: there is never another runtime in its place.
 *
 * @param paths of what is installed; for tests
 * @throws UsageError | ConnectionFailure
 */
export function findRuntime(
  { url, state: stateFlag }: { url?: string; state?: string },
  env: Env,
  state: StateFolder,
  paths = installedPaths,
): Address {
  if (url !== undefined) return { url: readServiceUrl(url, '--url'), isOwnSocket: false }
  const { SELVEDGE_RUNTIME_URL: fromEnv } = env
  if (fromEnv && stateFlag === undefined)
    return { url: readServiceUrl(fromEnv, 'SELVEDGE_RUNTIME_URL'), isOwnSocket: false }
  const found = findIn(state, 'runtime.sock')
  if (found.state !== 'absent') return addressOf('runtime', found, state)
  if (state.isNamed)
    throw new ConnectionFailure('not_running', `no runtime runs on ${state.path}: it has no runtime.sock`)
  const installed = findInstalled('runtime', paths)
  if (installed) return installed
  return {
    url: usualUrl,
    isOwnSocket: false,
    unconfirmed: {
      key: `runtime ${usualUrl}`,
      shown: `There is no runtime in ${state.path}; what answers at ${usualUrl} may be of another user.`,
      hint: `Name the runtime with --state or SELVEDGE_STATE, or give --url ${usualUrl}`,
    },
  }
}

/**
 * The operator's socket of the identity service.
 *
 * @param context the context in use: without a state folder, it does not name an operator's socket
 * @param paths of what is installed; for tests
 * @throws UsageError | ConnectionFailure
 */
export function findAdmin(state: StateFolder, context?: NamedContext, paths = installedPaths): Address {
  if (context && !state.isNamed)
    throw new UsageError(
      `the context ${context.name} names no state folder, and the operator's commands need one`,
      'Run the command on the machine of the identity service with --context default, or name its state folder with --state.',
    )
  const found = findIn(state, 'admin.sock')
  if (found.state !== 'absent') return addressOf('admin', found, state)
  const installed = state.isNamed ? undefined : findInstalled('admin', paths)
  if (installed) return installed
  throw new ConnectionFailure(
    'not_running',
    `no identity service runs on ${state.path}: it has no admin.sock`,
  )
}

const findIn = ({ path, isNamed }: StateFolder, name: string) => findSocket(path, name, { named: isNamed })

/** The service of a Debian package; undefined if it does not run, or this user is not in its group. */
function findInstalled(role: 'runtime' | 'admin', paths: typeof installedPaths): Address | undefined {
  const state = { path: role === 'admin' ? paths.identity : paths.runtime, isNamed: false }
  const found = findIn(state, `${role}.sock`)
  if (found.state !== 'own') return undefined
  const address = addressOf(role, found, state)
  if (role === 'admin' || process.getuid?.() !== 0) return address
  // The key is in the state folder of the service, which root can read; others set SELVEDGE_API_KEY.
  return { ...address, apiKey: readKey(paths.key, found.uid) }
}

function addressOf(
  role: 'runtime' | 'admin',
  found: Exclude<SocketFinding, { state: 'absent' }>,
  { path }: StateFolder,
): Address {
  if (found.state === 'refused')
    throw new UsageError(
      `the socket in ${path} is not used: ${found.reason}`,
      'Run the command as the user who started the runtime, or name another one with --state, --url or --context.',
    )
  const { path: socketPath, uid, beside } = found
  const socket = join(resolve(path), `${role}.sock`)
  const address = { url: 'http://localhost', socketPath, shownPath: socket }
  if (found.state === 'own')
    return {
      ...address,
      isOwnSocket: true,
      apiKey: role === 'runtime' ? readKey(beside('api-key')) : undefined,
    }
  return {
    ...address,
    isOwnSocket: false,
    unconfirmed: {
      key: `${role} unix:${socket} of user ${uid}`,
      shown: `The socket ${socket} belongs to user ${uid}, who is neither you nor root.`,
      hint: 'Run the command as that user, or name the runtime with --url.',
    },
  }
}

/** The API key in a file of the user. @throws UsageError if the file is missing, empty, or others can read it */
export function readKeyFile(path: string): string {
  const key = readPrivateFile(path)?.trim()
  if (key) return key
  throw new UsageError(
    `the file with the API key, ${path}, is ${key === undefined ? 'missing' : 'empty'}`,
    'Copy the api-key file of the state folder of the runtime there, and run: chmod 600 on it.',
  )
}

/**
 * The API key in a file of the runtime; undefined if the file is missing. The group of the runtime may read it.
 * @throws UsageError
 */
const readKey = (path: string, service?: number): string | undefined =>
  readOwnFile(path, 0, 'Run as the user of the runtime, or set SELVEDGE_API_KEY.', service)?.trim()
