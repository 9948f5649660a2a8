/** Where an image may come from: the mirrors of its registry in their order, and the registry. */
import { RpcError } from '@selvedge/protocol'
import type { Outbound } from '@selvedge/service-kit/network'
import { shareResult } from '@selvedge/service-kit/share'
import { authenticated } from './authenticated.ts'
import { readCredentials } from './credentials.ts'
import {
  type HttpGet,
  type HttpGetOptions,
  isAway,
  isLoopbackHost,
  isPassing,
  openHttpGet,
} from './http-get.ts'
import { hostIn, type Place, placesOf } from './mirrors.ts'
import type { Reference } from './reference.ts'
import { answerOf, type Waiting } from './resumed.ts'

export interface SourceOptions {
  /** See `credentials.ts`. */
  readonly authFile: string
  /** Rules of `images.mirrors`. */
  readonly mirrors?: readonly string[]
  /** Hosts of `images.insecure`. */
  readonly insecure?: readonly string[]
  /** Proxy and authorities. */
  readonly outbound: Outbound
  /** For tests. */
  readonly http?: Partial<HttpGetOptions>
  /** For tests. */
  readonly waiting?: Waiting
}

/**
 * The sources of one image. The first one that answers is used, until it fails; then the next one is used for what is missing. If the last
 * one cannot be reached, those that the line left out are used again.
 */
export interface Sources {
  /** URL of the repository at its registry. */
  readonly base: string
  /** Requests to the present source; URLs are those of the registry. A mirror that fails is left out from then on. */
  readonly get: HttpGet
  /** Whether no other source is left, or all of them are away. */
  isLast(): boolean
  /** Does work again with the next source if a mirror sends something wrong. @throws RpcError what the work throws */
  during<T>(work: () => Promise<T>): Promise<T>
}

export function openSources(reference: Reference, options: SourceOptions): Sources {
  const base = `https://${reference.registry}/v2/${reference.repository}`
  const sources = placesOf(reference, options.mirrors ?? []).map((place) =>
    shareResult(() => openPlace(place, reference.text, options)),
  )
  const failures: string[] = []
  /** Mirrors that the line, or an outage of them, left out. */
  const away: typeof sources = []
  let areAllAway = false
  const isMirror = () => sources.length > 1

  function leaveOut(cause: unknown): void {
    if (!isMirror()) return
    if (failures.length < maxFailures) failures.push((cause as Error).message)
    const [left] = sources.splice(0, 1)
    if (mayComeBack(cause)) away.push(left!)
  }

  async function get(url: string, headers: Readonly<Record<string, string>>) {
    for (;;) {
      const open = sources[0]!
      const mayFail = isMirror()
      try {
        const opened = await open()
        const answer = await opened.get(`${opened.base}${url.slice(base.length)}`, headers)
        areAllAway = false
        return answer
      } catch (cause) {
        if (!mayFail) {
          if (isUnreachable(cause)) {
            areAllAway = true
            sources.unshift(...away.splice(0))
          }
          throw withFailures(cause, failures)
        }
        // Another request may have left it out meanwhile.
        if (open === sources[0]) leaveOut(cause)
      }
    }
  }

  async function during<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      const used = sources[0]!
      const mayFail = isMirror()
      try {
        return await work()
      } catch (cause) {
        if (!mayFail || !(cause instanceof RpcError) || !ofSource.has(cause.reason)) throw cause
        if (used === sources[0]) leaveOut(cause)
      }
    }
  }

  return { base, get, during, isLast: () => !isMirror() || areAllAway }
}

/** Failures of mirrors that an error names. */
const maxFailures = 5
/** Reasons of failures that another source may not have. */
const ofSource: ReadonlySet<string> = new Set(['registry_unavailable', 'digest_mismatch', 'invalid_image'])

const isUnreachable = (cause: unknown): boolean => cause instanceof RpcError && isAway(cause.cause)

/** Whether a mirror may be used again: nothing that it sent was wrong. */
function mayComeBack(cause: unknown): boolean {
  const answer = answerOf(cause)
  return answer ? answer.isBusy : cause instanceof RpcError && isPassing(cause.cause)
}

/** The failure of a registry, with those of its mirrors. */
function withFailures(cause: unknown, failures: readonly string[]): unknown {
  if (failures.length === 0 || !(cause instanceof RpcError)) return cause
  const message = `${cause.message} (of its mirrors: ${failures.join('; ')})`
  return new RpcError(cause.reason, message, { hint: cause.hint, cause: cause.cause })
}

interface Opened {
  readonly base: string
  readonly get: HttpGet
}

async function openPlace(
  { registry, repository }: Place,
  text: string,
  options: SourceOptions,
): Promise<Opened> {
  const lookup = await readCredentials(options.authFile, registry, repository)
  const insecure = new Set((options.insecure ?? []).map((each) => new URL(`https://${hostIn(each)}`).host))
  const httpGet = await openHttpGet(registry, { ...options.http, outbound: options.outbound, insecure })
  const isListed = insecure.has(new URL(`https://${registry}`).host)
  const scheme = isListed ? await findScheme(registry, httpGet) : isLoopbackHost(registry) ? 'http' : 'https'
  return {
    base: `${scheme}://${registry}/v2/${repository}`,
    get: authenticated({ registry, repository, text }, lookup, httpGet),
  }
}

/** Codes of a host that does not speak TLS at a port, or does not listen at that of HTTPS. */
const withoutTls: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPROTO',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_WRONG_VERSION_NUMBER',
])

/** The scheme of a registry in `images.insecure`: HTTPS, with any certificate, if the registry has it. The request that finds out has no secret. */
async function findScheme(registry: string, httpGet: HttpGet): Promise<'http' | 'https'> {
  try {
    const answer = await httpGet(`https://${registry}/v2/`, {})
    answer.discard()
    return 'https'
  } catch (cause) {
    const code = ((cause as Error).cause as NodeJS.ErrnoException | undefined)?.code
    return withoutTls.has(code) ? 'http' : 'https'
  }
}
