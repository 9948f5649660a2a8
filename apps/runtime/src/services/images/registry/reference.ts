import { RpcError } from '@selvedge/protocol'

/** A reference to an image in a registry, in its parts. */
export interface Reference {
  /** Host with its port. */
  readonly registry: string
  readonly repository: string
  /** Tag or digest to ask for. */
  readonly version: string
  /** What the manifest must hash to, where the reference pins it. */
  readonly digest: string | undefined
  /** As a person would write it, tag included. */
  readonly text: string
}

/** Maximum characters of a reference; real ones are much shorter. */
const longest = 400
const hostPattern = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/
const componentPattern = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/
const tagPattern = /^\w[\w.-]{0,127}$/
const digestPattern = /^sha256:[0-9a-f]{64}$/

/**
 * Reads a reference the way Docker and Podman write them: without a registry it is one of Docker Hub, without a tag `latest`.
 *
 * @throws RpcError `invalid_params`
 */
export function readReference(text: string): Reference {
  const parts = text.length > longest ? undefined : partsOf(text.replace(/^docker:\/\//, ''))
  if (!parts) {
    throw new RpcError(
      'invalid_params',
      `${JSON.stringify(text.slice(0, 200))} is neither an absolute path, nor an upload: handle, nor an image reference`,
      { hint: 'A reference is registry.example:5000/team/app:1.0, with @sha256:… to pin it.' },
    )
  }
  const { host, tag, digest } = parts
  let { repository } = parts
  const isHub = host === undefined || host === 'docker.io'
  if (isHub && !repository.includes('/')) repository = `library/${repository}`
  return {
    registry: isHub ? 'registry-1.docker.io' : host!,
    repository,
    version: digest ?? tag ?? 'latest',
    digest,
    text: `${host ?? 'docker.io'}/${repository}:${tag ?? (digest ? digest.slice(7, 19) : 'latest')}`,
  }
}

/** Whether a URL understands a host as it is written: `1.2` would be the address 1.0.0.2, and `e.0` none at all. */
const isHost = (host: string): boolean => URL.parse(`https://${host}`)?.hostname === host.replace(/:\d+$/, '')

interface Parts {
  readonly host: string | undefined
  readonly repository: string
  readonly tag: string | undefined
  readonly digest: string | undefined
}

/** One small pattern for each part: one for all of them could not be shown to be linear. */
function partsOf(text: string): Parts | undefined {
  const [name = '', digest, ...more] = text.split('@')
  const components = name.split('/')
  const [first = ''] = components
  // The first part is a registry only where it can't be part of a name.
  const isRegistry = components.length > 1 && (/[.:]/.test(first) || first === 'localhost')
  const host = isRegistry ? components.shift() : undefined
  const [last = '', ...tags] = components.pop()?.split(':') ?? []
  components.push(last)
  const [tag] = tags
  const isRight =
    more.length === 0 &&
    tags.length < 2 &&
    (host === undefined || (hostPattern.test(host) && isHost(host))) &&
    components.every((each) => componentPattern.test(each)) &&
    (tag === undefined || tagPattern.test(tag)) &&
    (digest === undefined || digestPattern.test(digest))
  return isRight ? { host, repository: components.join('/'), tag, digest } : undefined
}
