import {
  type ConnectionFailure,
  isSelvedgeError,
  type RpcFailure,
  type SelvedgeError,
} from '@selvedge/client'
import { catalogue, type Reason } from '@selvedge/protocol'
import { settingHint } from './setting-hint.ts'

/** Exit codes of protocol.md § 5. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, notRunning: 3, notAuthorised: 4 } as const

/** A mistake in how the command was called. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly hint: string
  readonly exitCode: number
  constructor(message: string, hint: string, exitCode: number = exitCodes.usage) {
    super(message)
    this.hint = hint
    this.exitCode = exitCode
  }
}

/** The command needs a token or a sign-in, and did not get one. */
export const signInNeeded = (message: string, hint: string): UsageError =>
  new UsageError(message, hint, exitCodes.notAuthorised)

export interface Failure {
  readonly code: number
  readonly message: string
  readonly hint?: string
}

/** The error message for a person, and the exit code. */
export function describeFailure(cause: unknown): Failure {
  if (cause instanceof UsageError) return { code: cause.exitCode, message: cause.message, hint: cause.hint }
  // The address of a service was refused inside the call.
  if (cause instanceof Error && cause.cause instanceof UsageError) return describeFailure(cause.cause)
  if (isSelvedgeError(cause)) return describe(cause)
  return (
    describeSystemError(cause) ?? {
      code: exitCodes.failed,
      message: (cause as Error).message ?? String(cause),
    }
  )
}

function describe(error: SelvedgeError): Failure {
  const errorId = error.kind === 'rpc' && error.errorId
  const message = `${error.message} (${error.reason}${errorId ? `, error ID ${errorId}` : ''})`
  switch (error.kind) {
    case 'rpc':
      return { ...describeRpc(error), message }
    case 'oauth': {
      const denied = error.status === 401 || error.status === 403 || error.reason === 'invalid_grant'
      const isScope = error.reason === 'invalid_scope'
      if (!denied) return { code: exitCodes.failed, message, ...(isScope && { hint: scopeHint }) }
      const hint = error.reason === 'invalid_client' ? clientHint : signInHint
      return { code: exitCodes.notAuthorised, message, hint }
    }
    case 'connection':
      return describeConnection(error, message)
  }
}

function describeRpc({ code, reason, message, hint: given }: RpcFailure): Omit<Failure, 'message'> {
  // The usual hint is for programs that send JSON-RPC.
  const hint = (given === catalogue[reason]?.hint && commandHints[reason]) || given
  if (reason === 'invalid_params') return { code: exitCodes.usage, hint: settingHint({ message }) ?? hint }
  const denied = code === -32001 || code === -32003
  return { code: denied ? exitCodes.notAuthorised : exitCodes.failed, hint }
}

/** The commands that do what the hints of the catalogue say. */
const commandHints: Partial<Readonly<Record<Reason, string>>> = {
  internal_error: 'Search the log of the service for the error ID.',
  storage_failed:
    'Try again. If it still fails, check the disk or the database, and search the log of the service for the error ID.',
  invalid_params: 'Run the command with --help. The parameters of each method: selvedge call rpc.discover',
  token_expired: 'Get a new one with "selvedge token access", or sign in with "selvedge login".',
  token_revoked: 'Get a new one with "selvedge token access", or sign in again with "selvedge login".',
  wrong_node: 'Get a token for this device with "selvedge token access".',
  wrong_account: '"selvedge whoami" shows your account and that of the device.',
  not_associated: 'Make the device yours: selvedge up',
  already_associated: 'An owner of that account removes it first: selvedge account unassociate',
  insufficient_scope:
    'Ask for the scope that the message names: selvedge login --scope, or selvedge token access --scope',
  api_key_invalid:
    'The key is in the file api-key of the state folder of the runtime. Set SELVEDGE_API_KEY, or give it to a context: selvedge context add --api-key-file <file>',
}

function describeConnection({ reason, cause }: ConnectionFailure, message: string): Failure {
  if (cause instanceof Error && cause.name === 'NetworkFailure') {
    const { reason: fault } = cause as Error & { reason?: string }
    return { code: exitCodes.failed, message: cause.message, hint: faultHint(fault) }
  }
  if (reason === 'not_running') return { code: exitCodes.notRunning, message, hint: notRunningHint(message) }
  if (reason === 'timeout') return { code: exitCodes.failed, message, hint: timeoutHint }
  return { code: exitCodes.failed, message, ...(reason !== 'aborted' && { hint: addressHint }) }
}

/** The code of a system or TLS error, or "". */
const codeOf = (cause: unknown): string => {
  const { code } = Object(cause) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

const clientHint =
  'Check --client-id, or that of "selvedge login": the page of the project in the console shows it, and so does "selvedge admin project list".'
const scopeHint =
  'Name the scopes that the project has: --scope "openid edge:mcm". The page of the project in the console shows them.'
const signInHint = 'Sign in again with "selvedge login", or give a new developer ID token.'
const isOnThisMachine = (host: string): boolean => /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(host)

/** @param message names the address or the folder where nothing answers */
function notRunningHint(message: string): string {
  const [, host] = /at https?:\/\/(\[[\d:a-f]+\]|[^:/\s]+)/.exec(message) ?? []
  return host === undefined || isOnThisMachine(host)
    ? 'Start it ("npm start" in a clone, else its service), or name the device with --context, --state or --url.'
    : 'Check the address, and that the service runs there and this network reaches it.'
}
const timeoutHint = 'Try again. "selvedge status" shows which services answer.'
const addressHint =
  'Check that the address is that of the right service: --url is for the runtime, --identity-url for the identity service, --discovery-url for the discovery service.'
/** Where the settings of the network are, for failures that name those of a daemon. */
export const networkHint =
  'For this program, the environment has these settings: HTTPS_PROXY, NO_PROXY, SELVEDGE_PROXY_AUTH_FILE and SELVEDGE_CA_FILE.'

/** What to do about each fault of a server, with commands. */
const faultHints: Readonly<Record<string, string>> = {
  certificate_untrusted:
    'On Debian: sudo cp <authority>.crt /usr/local/share/ca-certificates/ && sudo update-ca-certificates. It is used within seconds, without a restart. Or name its file: SELVEDGE_CA_FILE for this program, network.caFile for a service.',
  certificate_incomplete:
    'On the machine of the server, give its TLS proxy the whole chain: cat <own>.crt <intermediate>.crt > fullchain.pem',
  certificate_expired:
    'Renew the certificate of the server. If the clock here is wrong: sudo timedatectl set-ntp true',
  certificate_not_yet_valid: 'If the clock here is wrong: sudo timedatectl set-ntp true',
  certificate_name:
    'Use a name of the certificate in the URL, or give the server a certificate for this name.',
  no_tls:
    'A service of this machine without TLS has http:// in its URL. Elsewhere, use the port of its TLS proxy.',
  sign_in_page:
    'Sign in to the network, or ask who runs it for an exception for this device. If there is no such page, correct the URL of the service.',
}

/** @param reason of a `NetworkFailure` */
export const faultHint = (reason = ''): string => faultHints[reason] ?? networkHint

/** Errors of the operating system that a user can do something about. */
const systemErrors: Readonly<Record<string, readonly [meaning: string, hint: string]>> = {
  ENOSPC: ['the disk is full', 'Free space on that disk, or choose a folder on another one.'],
  EDQUOT: ['the disk quota of this user is used up', 'Remove files, or choose a folder on another disk.'],
  EROFS: ['the file system is read-only', 'Choose a folder that can be written to.'],
  EACCES: ['permission denied', 'Check the owner and the mode: ls -ld on the path and its folder.'],
  EPERM: [
    'the operation is not permitted',
    'Check the owner and the mode: ls -ld on the path and its folder.',
  ],
  ENOENT: ['there is no such file or folder', 'Check the path.'],
  EEXIST: ['the file exists already', 'Choose another name, or remove the file first.'],
  ENOTDIR: ['a part of the path is a file, not a folder', 'Check the path.'],
  EISDIR: ['this is a folder, not a file', 'Name a file.'],
  EMFILE: ['too many files are open', 'Raise the limit: ulimit -n 4096'],
}

function describeSystemError(cause: unknown): Failure | undefined {
  const meaning = meaningOf(cause)
  if (meaning === undefined) return undefined
  const { path } = cause as NodeJS.ErrnoException
  const [text, hint] = meaning
  return { code: exitCodes.failed, message: path === undefined ? text : `${nameOf(path)}: ${text}`, hint }
}

function meaningOf(cause: unknown): readonly [text: string, hint: string] | undefined {
  const code = codeOf(cause)
  if (!Object.hasOwn(systemErrors, code)) return undefined
  const [text, hint] = systemErrors[code]!
  return [`${text} (${code})`, hint]
}

/** A file is written under a draft name first; the user knows the other one. */
const nameOf = (path: string): string => path.replace(/\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '')

/** The same error with the path of the file: a failed write does not name it. */
export function withPath(cause: unknown, path: string): unknown {
  if (codeOf(cause) !== '') (cause as NodeJS.ErrnoException).path ??= path
  return cause
}

/** The reason of a system error in words, for a message that names the path. */
export const reasonOf = (cause: unknown): string => meaningOf(cause)?.[0] ?? (cause as Error).message
