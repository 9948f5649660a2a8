/**
 * Credentials of registries, from a file as `docker login`, `podman login` and `az acr login` write it. The operator of the device wrote
 * it; what it contains is never part of an error, because errors are sent to callers.
 */
import { readFile, stat } from 'node:fs/promises'
import { RpcError } from '@selvedge/protocol'
import * as z from 'zod'

interface Credentials {
  /** User and password in base64 (RFC 7617), if the entry has a password. */
  readonly basic: string | undefined
  /** Refresh token for the token server of the registry. */
  readonly identityToken: string | undefined
  /** Texts that no message may have. */
  readonly secrets: readonly string[]
  /** The entry and its file, for messages. */
  readonly from: string
}

export interface Lookup {
  readonly credentials: Credentials | undefined
  /** Why there are no credentials, for messages. */
  readonly missing: string
}

/** Bytes of a file; real ones have a few thousand. */
const maxBytes = 1024 * 1024

const document = z.looseObject({
  auths: z.record(z.string(), z.unknown()).nullish(),
  credsStore: z.string().nullish(),
  credHelpers: z.record(z.string(), z.unknown()).nullish(),
})
const entryOfFile = z.looseObject({
  auth: z.string().nullish(),
  username: z.string().nullish(),
  password: z.string().nullish(),
  identitytoken: z.string().nullish(),
})

/**
 * The credentials for a repository. The longest key of the file that leads to it counts: `host/team/app`, `host/team`, `host`. Keys of hosts
 * may have `http://` or `https://` before them and a path after them. Docker Hub has three names.
 *
 * @param file '' if no file is configured
 * @param registry host and port
 * @throws RpcError `registry_unavailable` if the file or the entry cannot be read
 */
export async function readCredentials(file: string, registry: string, repository: string): Promise<Lookup> {
  if (file === '') return { credentials: undefined, missing: 'images.registryAuth is not set' }
  const { auths, credsStore, credHelpers } = await readDocument(file)
  const host = hostOf(registry)
  const parts = repository.split('/')
  const wanted = parts.map((_, at) => [host, ...parts.slice(0, parts.length - at)].join('/'))
  const byKey = Map.groupBy(Object.entries(auths ?? {}), ([key]) => normalized(key))
  for (const key of [...wanted, host]) {
    for (const [written, value] of byKey.get(key) ?? []) {
      const credentials = readEntry(written, value, file)
      if (credentials) return { credentials, missing: '' }
    }
  }
  const helped = Object.keys(credHelpers ?? {}).some((each) => normalized(each) === host)
  const isHelped = helped || Boolean(credsStore)
  return {
    credentials: undefined,
    missing: isHelped
      ? `${file} has them in a credential helper, which the runtime does not support`
      : `${file} has no entry for ${registry}`,
  }
}

const unreadable = (file: string, why: string, cause?: unknown): RpcError =>
  new RpcError('registry_unavailable', `the credentials in ${file} can't be read: ${why}`, {
    cause,
    hint: 'images.registryAuth names a file like the config.json of Docker.',
  })

async function readDocument(file: string): Promise<z.infer<typeof document>> {
  let text: string
  try {
    const found = await stat(file)
    // Reading a pipe could last forever.
    if (!found.isFile()) throw new Error('it is no file')
    if (found.size > maxBytes) throw new Error(`it has ${found.size} bytes; the limit is ${maxBytes}`)
    text = await readFile(file, 'utf8')
  } catch (cause) {
    throw unreadable(file, (cause as Error).message, cause)
  }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    // The message of the parser quotes the file.
    throw unreadable(file, 'it is not JSON')
  }
  const read = document.safeParse(json)
  if (!read.success)
    throw unreadable(file, `${read.error.issues[0]!.path.join('.') || 'it'} has another form`)
  return read.data
}

/** @returns undefined if the entry is empty, as with credential helpers. @throws RpcError */
function readEntry(key: string, value: unknown, file: string): Credentials | undefined {
  const from = `${JSON.stringify(key.slice(0, 300))} in ${file}`
  const read = entryOfFile.safeParse(value)
  if (!read.success) throw unreadable(file, `its entry ${JSON.stringify(key.slice(0, 300))} has another form`)
  const { auth, identitytoken } = read.data
  const { username, password } = auth ? decode(auth, key, file) : read.data
  const identityToken = identitytoken || undefined
  const hasPassword = Boolean(username && password)
  if (!hasPassword && identityToken === undefined) return undefined
  const basic = hasPassword ? Buffer.from(`${username}:${password}`).toString('base64') : undefined
  const secrets = [identityToken, basic, password].filter((each) => typeof each === 'string' && each !== '')
  return { basic, identityToken, secrets: secrets as string[], from }
}

/** @throws RpcError */
function decode(auth: string, key: string, file: string): { username: string; password: string } {
  const text = Buffer.from(auth, 'base64').toString()
  const colon = text.indexOf(':')
  if (colon < 1)
    throw unreadable(
      file,
      `"auth" of its entry ${JSON.stringify(key.slice(0, 300))} is not user:password in base64`,
    )
  // Docker fills the password with NUL characters.
  return { username: text.slice(0, colon), password: text.slice(colon + 1).replaceAll('\0', '') }
}

/** A key as `host` or `host/repository`. */
function normalized(key: string): string {
  const [, scheme, rest = ''] = /^(https?:\/\/)?(.*)$/is.exec(key)!
  const [host = '', ...path] = rest.split('/')
  // After a scheme the path is that of the API. Without one it is, if it ends as no repository does.
  const isHost = scheme !== undefined || /^v[12]\/$|^$/.test(path.join('/'))
  return isHost ? hostOf(host) : [hostOf(host), ...path].join('/')
}

const hubNames: ReadonlySet<string> = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io'])

const hostOf = (host: string): string => {
  const lower = host.toLowerCase()
  return hubNames.has(lower) ? 'docker.io' : lower
}
