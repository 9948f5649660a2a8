/** A reader of OCI registries (OCI distribution specification 1.1 § 3, bearer and basic authentication). */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { RpcError } from '@selvedge/protocol'
import * as z from 'zod'
import type { Packed } from '../archive.ts'
import type { Blobs, Draft } from '../blobs.ts'
import { findManifest, imageLimits } from '../manifest.ts'
import {
  type Answer,
  type HttpGet,
  type HttpGetOptions,
  isLoopbackHost,
  openHttpGet,
  readText,
  readUrl,
  unavailable,
} from './http-get.ts'
import { type Reference, readReference } from './reference.ts'
import { limitTime, resumed, type Waiting } from './resumed.ts'
import { UnexpectedStatus } from './status.ts'

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

/** Largest documents in bytes: manifests as registries themselves limit them, and answers of token services. */
const maxManifest = 4 * 1024 * 1024
const maxTokenAnswer = 64 * 1024

export interface PullOptions {
  /** File in the form of Docker's config.json: `{ "auths": { "<registry>": { "auth": base64("user:password") } } }`. Empty: no credentials. */
  readonly authFile: string
  /** Called with the bytes that the manifest announces, before the first of them comes. @throws to refuse */
  readonly announce: (bytes: number) => Promise<void>
  readonly watch: (content: AsyncIterable<Uint8Array>, length: number) => AsyncIterable<Uint8Array>
  /** Limit in bytes of all layers as they are transferred. */
  readonly maxSize: number
  /** Whether stored content may be used in place of a download: the caller has deployed it before. */
  readonly mayReuse: (digest: string) => boolean
  /** For tests. */
  readonly http?: HttpGetOptions
  /** For tests. */
  readonly waiting?: Waiting
}

/** @throws RpcError `registry_unavailable`, `not_found`, `digest_mismatch`, `invalid_image`; then nothing is left of it */
export async function pullImage(blobs: Blobs, source: string, options: PullOptions): Promise<Packed> {
  const reference = readReference(source)
  const { registry, repository } = reference
  const expectTime = limitTime(options.waiting)
  const base = `${isLoopbackHost(registry) ? 'http' : 'https'}://${registry}/v2/${repository}`
  const credentials = await readCredentials(options.authFile, registry)
  const get = authenticated(reference, credentials, await openHttpGet(registry, options.http))

  async function document(version: string, expected: string | undefined): Promise<string> {
    const answer = await get(`${base}/manifests/${version}`, { Accept: manifestTypes })
    const text = await readText(answer, maxManifest).catch((cause) => {
      throw cause instanceof RpcError ? cause : unavailable(base, (cause as Error).message, cause)
    })
    const digest = `sha256:${hash('sha256', text, 'hex')}`
    if (expected !== undefined && digest !== expected)
      throw new RpcError(
        'digest_mismatch',
        `the manifest of ${source} should be ${expected} and is ${digest}`,
      )
    return text
  }

  const { manifest } = await findManifest(
    await document(reference.version, reference.digest),
    'the manifest of the registry',
    (digest) => document(digest, digest),
  )
  expectSmall(manifest, options.maxSize)
  const isThere = async (digest: string) => options.mayReuse(digest) && (await blobs.has(digest))
  // The same layer may come several times: one that changes nothing, for example.
  const unique = new Map([manifest.config, ...manifest.layers].map((each) => [each.digest, each]))
  const missing = []
  for (const each of unique.values()) if (!(await isThere(each.digest))) missing.push(each)
  await options.announce(missing.reduce((sum, { size }) => sum + size, 0))

  const drafts = new Map<string, Draft>()
  try {
    const fetch = async ({ digest, size }: Blob): Promise<Draft> => {
      const draftOf = (content: AsyncIterable<Uint8Array>) =>
        blobs.draft(options.watch(content, size), digest)
      const download = () =>
        resumed(get, `${base}/blobs/${digest}`, { digest, size }, expectTime, options.waiting)
      const stored = (await isThere(digest))
        ? // What is damaged on the disk is downloaded again.
          await draftOf(blobs.read(digest)).catch(() => undefined)
        : undefined
      const draft = stored ?? (await draftOf(download()))
      drafts.set(digest, draft)
      return draft
    }
    for (const each of unique.values()) await fetch(each)
    const draftOf = ({ digest }: Blob) => drafts.get(digest)!
    const [config, layers] = [draftOf(manifest.config), manifest.layers.map(draftOf)]
    return { config, layers, repoTags: [reference.text], drafts: [...drafts.values()] }
  } catch (cause) {
    await blobs.discard(drafts.values())
    if (cause instanceof RpcError) throw cause
    throw unavailable(base, (cause as Error).message, cause)
  }
}

interface Blob {
  readonly digest: string
  readonly size: number
}

/** @throws RpcError `invalid_image` */
function expectSmall({ config, layers }: { config: Blob; layers: readonly Blob[] }, maxSize: number): void {
  if (layers.length > imageLimits.layers)
    throw new RpcError(
      'invalid_image',
      `the image has ${layers.length} layers; the limit is ${imageLimits.layers}`,
    )
  const size = layers.reduce((sum, each) => sum + each.size, 0)
  if (size > maxSize || config.size > maxManifest)
    throw new RpcError(
      'invalid_image',
      `the image has ${size} bytes; the limit is ${maxSize} (images.maxSize)`,
    )
}

const tokenAnswer = z.object({ token: z.string().optional(), access_token: z.string().optional() })

/** Answers the challenge of a registry once, and uses the outcome for the requests that follow (RFC 6750 § 3, RFC 7617). */
function authenticated(
  { registry, repository, text }: Reference,
  credentials: string | undefined,
  httpGet: HttpGet,
): HttpGet {
  let authorization: string | undefined

  async function answer(challenge: string, from: string): Promise<string | undefined> {
    if (/^basic/i.test(challenge)) return credentials && `Basic ${credentials}`
    const value = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1]
    const realm = value('realm')
    if (!/^bearer/i.test(challenge) || realm === undefined) return undefined
    const url = readUrl(realm, from)
    url.searchParams.set('service', value('service') ?? registry)
    url.searchParams.set('scope', value('scope') ?? `repository:${repository}:pull`)
    const answered = await httpGet(url.href, credentials ? { Authorization: `Basic ${credentials}` } : {})
    return `Bearer ${await readToken(answered, url)}`
  }

  return async (url, headers) => {
    const ask = () =>
      httpGet(url, authorization === undefined ? headers : { ...headers, Authorization: authorization })
    let response = await ask()
    const challenge = response.headers['www-authenticate']
    // A challenge names where the credentials go: only the host that they are for may do so.
    if (response.status === 401 && challenge !== undefined && response.origin === new URL(url).origin) {
      response.discard()
      authorization = await answer(challenge, url)
      if (authorization !== undefined) response = await ask()
    }
    const { status } = response
    if (status === 200 || (status === 206 && 'Range' in headers)) return response
    response.discard()
    if (status === 404) throw new RpcError('not_found', `${registry} has no ${text}`)
    const refused = status === 401 || status === 403
    throw unavailable(
      url,
      refused ? `it refused the credentials (${status})` : `it answered ${status}`,
      new UnexpectedStatus(response, new URL(url).origin),
    )
  }
}

/** @throws RpcError `registry_unavailable` */
async function readToken(answered: Answer, { href }: URL): Promise<string> {
  if (answered.status !== 200) {
    answered.discard()
    const cause = new UnexpectedStatus(answered, answered.origin)
    throw unavailable(href, `it refused a token with ${answered.status}`, cause)
  }
  try {
    const { token, access_token } = tokenAnswer.parse(JSON.parse(await readText(answered, maxTokenAnswer)))
    const found = token ?? access_token
    if (found !== undefined && /^[\x21-\x7e]+$/.test(found)) return found
  } catch (cause) {
    throw unavailable(href, 'it sent an answer that is no token', cause)
  }
  throw unavailable(href, 'it sent an answer without a token')
}

async function readCredentials(file: string, registry: string): Promise<string | undefined> {
  if (file === '') return undefined
  try {
    const { auths = {} } = JSON.parse(await readFile(file, 'utf8')) as {
      auths?: Record<string, { auth?: string }>
    }
    const names = [
      registry,
      `https://${registry}`,
      ...(registry === 'registry-1.docker.io' ? ['https://index.docker.io/v1/'] : []),
    ]
    return names.map((name) => auths[name]?.auth).find((each) => each !== undefined)
  } catch (cause) {
    throw new RpcError(
      'registry_unavailable',
      `the credentials in ${file} can't be read: ${(cause as Error).message}`,
      {
        cause,
        hint: 'images.registryAuth names a file like the config.json of Docker.',
      },
    )
  }
}
