/** A reader of OCI registries (OCI distribution specification 1.1 § 3, bearer and basic authentication). */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { RpcError } from '@selvedge/protocol'
import { type Packed, parseDocument } from '../archive.ts'
import type { Blobs, Draft } from '../blobs.ts'
import { chooseManifest, indexDocument, manifestDocument } from '../manifest.ts'
import { httpGet, readText, unavailable } from './http-get.ts'
import { type Reference, readReference } from './reference.ts'

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

/** Only the loopback may be spoken to without TLS, as with Docker and Podman. */
const isLoopback = (registry: string) => /^(localhost|127(\.\d{1,3}){3})(:\d+)?$/.test(registry)

export interface PullOptions {
  /** File in the form of Docker's config.json: `{ "auths": { "<registry>": { "auth": base64("user:password") } } }`. Empty: none. */
  readonly authFile: string
  /** Called with the bytes that are to come, before the first of them does. @throws to refuse */
  readonly claim: (bytes: number) => Promise<void>
  readonly watch: (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
}

/** @throws RpcError `registry_unavailable`, `not_found`, `digest_mismatch`, `invalid_image`; then nothing is left of it */
export async function pullImage(blobs: Blobs, source: string, options: PullOptions): Promise<Packed> {
  const reference = readReference(source)
  const { registry, repository } = reference
  const base = `${isLoopback(registry) ? 'http' : 'https'}://${registry}/v2/${repository}`
  const get = authenticated(reference, await readCredentials(options.authFile, registry))

  async function document(
    version: string,
    expected: string | undefined,
  ): Promise<{ text: string; type: string }> {
    const response = await get(`${base}/manifests/${version}`, { Accept: manifestTypes })
    const text = await readText(response)
    const digest = `sha256:${hash('sha256', text, 'hex')}`
    if (expected !== undefined && digest !== expected)
      throw new RpcError(
        'digest_mismatch',
        `the manifest of ${source} should be ${expected} and is ${digest}`,
      )
    return { text, type: response.headers['content-type'] ?? '' }
  }

  let { text, type } = await document(reference.version, reference.digest)
  if (/index|manifest\.list/.test(type)) {
    const { digest } = chooseManifest(parseDocument(text, indexDocument, 'the index of the registry'))
    text = (await document(digest, digest)).text
  }
  const manifest = parseDocument(text, manifestDocument, 'the manifest of the registry')
  const missing = []
  for (const each of [manifest.config, ...manifest.layers])
    if (!(await blobs.has(each.digest))) missing.push(each)
  await options.claim(missing.reduce((sum, { size }) => sum + size, 0))

  const drafts: Draft[] = []
  try {
    const fetch = async (digest: string): Promise<Draft> => {
      const draftOf = (content: AsyncIterable<Uint8Array>) => blobs.draft(options.watch(content), digest)
      const stored = (await blobs.has(digest))
        ? // What is damaged on the disk is downloaded again.
          await draftOf(blobs.read(digest)).catch(() => undefined)
        : undefined
      const draft = stored ?? (await draftOf(await get(`${base}/blobs/${digest}`, {})))
      drafts.push(draft)
      return draft
    }
    const config = await fetch(manifest.config.digest)
    const layers: Draft[] = []
    for (const { digest } of manifest.layers) layers.push(await fetch(digest))
    return { config, layers, repoTags: [reference.text], drafts }
  } catch (cause) {
    await blobs.discard(drafts)
    if (cause instanceof RpcError) throw cause
    throw unavailable(base, (cause as Error).message, cause)
  }
}

type Get = (url: string, headers: Readonly<Record<string, string>>) => Promise<IncomingMessage>

/** Answers the challenge of a registry once, and keeps what came of it for the requests that follow (RFC 6750 § 3, RFC 7617). */
function authenticated({ registry, repository, text }: Reference, credentials: string | undefined): Get {
  let authorization: string | undefined

  async function answer(challenge: string): Promise<string | undefined> {
    if (/^basic/i.test(challenge)) return credentials && `Basic ${credentials}`
    const value = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1]
    const realm = value('realm')
    if (!/^bearer/i.test(challenge) || realm === undefined) return undefined
    const url = new URL(realm)
    if (url.protocol !== 'https:' && !isLoopback(url.host))
      throw unavailable(realm, 'it asks for credentials without TLS')
    url.searchParams.set('service', value('service') ?? registry)
    url.searchParams.set('scope', value('scope') ?? `repository:${repository}:pull`)
    const response = await httpGet(url.href, credentials ? { Authorization: `Basic ${credentials}` } : {})
    const body = await readText(response)
    if (response.statusCode !== 200)
      throw unavailable(realm, `it refused a token with ${response.statusCode}`)
    const { token, access_token } = JSON.parse(body) as { token?: string; access_token?: string }
    return `Bearer ${token ?? access_token}`
  }

  return async (url, headers) => {
    const ask = () =>
      httpGet(url, authorization === undefined ? headers : { ...headers, Authorization: authorization })
    let response = await ask()
    const challenge = response.headers['www-authenticate']
    if (response.statusCode === 401 && challenge !== undefined) {
      response.resume()
      authorization = await answer(challenge)
      if (authorization !== undefined) response = await ask()
    }
    const { statusCode = 0 } = response
    if (statusCode === 200) return response
    response.resume()
    if (statusCode === 404) throw new RpcError('not_found', `${registry} has no ${text}`)
    const refused = statusCode === 401 || statusCode === 403
    throw unavailable(
      url,
      refused ? `it refused the credentials (${statusCode})` : `it answered ${statusCode}`,
    )
  }
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
