/** Requests to a registry that answer its challenges (RFC 6750 § 3, RFC 7617, OCI distribution specification 1.1 § 3). */
import { RpcError } from '@selvedge/protocol'
import { type Challenge, readChallenges } from './challenges.ts'
import { readComplaint } from './complaint.ts'
import type { Lookup } from './credentials.ts'
import { type Answer, type HttpGet, readUrl, unavailable } from './http-get.ts'
import type { Reference } from './reference.ts'
import { UnexpectedStatus } from './status.ts'
import { refused, requestToken } from './token-server.ts'

type Source = Pick<Reference, 'registry' | 'repository' | 'text'>

/**
 * Requests for one pull. The first challenge that can be answered is; what results is sent with the requests that follow, until the registry
 * sends another challenge: tokens expire.
 *
 * @returns answers with the status 200, or 206 for a range
 * @throws RpcError `registry_unavailable`, `registry_refused` without or with wrong credentials, `not_found`
 */
export function authenticated(source: Source, lookup: Lookup, httpGet: HttpGet): HttpGet {
  const { credentials } = lookup
  let authorization: string | undefined
  let hasAskedAtRoot = false

  /** The value of `Authorization` for one of the challenges; undefined if it can answer no challenge. */
  async function answer(challenges: readonly Challenge[], from: string): Promise<string | undefined> {
    for (const each of challenges) {
      if (each.scheme === 'basic' && credentials?.basic !== undefined) return `Basic ${credentials.basic}`
      const realm = each.parameters.get('realm')
      if (each.scheme === 'bearer' && realm !== undefined)
        return `Bearer ${await requestToken(httpGet, readUrl(realm, from), each, source.repository, lookup)}`
    }
    return undefined
  }

  /** The challenges of the root of the API. Some registries hide what a stranger may not read, and challenge only there. */
  async function findHidden({ status, origin: by }: Answer, origin: string): Promise<Challenge[]> {
    const mayBeHidden = (status === 403 || status === 404) && by === origin
    if (!mayBeHidden || !credentials || authorization !== undefined || hasAskedAtRoot) return []
    hasAskedAtRoot = true
    const root = await httpGet(`${origin}/v2/`, {}).catch(() => undefined)
    root?.discard()
    return root ? challengesOf(root, origin) : []
  }

  return async (url, headers) => {
    const { origin } = new URL(url)
    const ask = () =>
      httpGet(url, authorization === undefined ? headers : { ...headers, Authorization: authorization })
    let response = await ask()
    let challenges = [...challengesOf(response, origin), ...(await findHidden(response, origin))]
    const found = challenges.length > 0 ? await answer(challenges, url) : undefined
    if (found !== undefined) {
      response.discard()
      authorization = found
      response = await ask()
      challenges = []
    }
    const { status } = response
    if (status === 200 || (status === 206 && 'Range' in headers)) return response
    return refuse(source, lookup, { url, response, challenges, authorization })
  }
}

/** A challenge names where the credentials go: only the host that they are for may do so. */
function challengesOf({ status, headers, origin: by }: Answer, origin: string): Challenge[] {
  const field = headers['www-authenticate']
  return status === 401 && field !== undefined && by === origin ? readChallenges(field) : []
}

interface Refusal {
  readonly url: string
  readonly response: Answer
  /** Those that could not be answered. */
  readonly challenges: readonly Challenge[]
  /** What was sent last. */
  readonly authorization: string | undefined
}

/** @throws RpcError for an answer that is not the content */
async function refuse(
  { registry, text }: Source,
  { credentials, missing }: Lookup,
  { url, response, challenges, authorization = '' }: Refusal,
): Promise<never> {
  const { origin } = new URL(url)
  const { status } = response
  const cause = new UnexpectedStatus(response, origin)
  const sent = authorization.split(' ').slice(1)
  const words = await readComplaint(response, [...(credentials?.secrets ?? []), ...sent])
  if (status === 404) throw new RpcError('not_found', `${registry} has no ${text}${words}`)
  const isRefusal = (status === 401 || status === 403) && response.origin === origin
  if (!isRefusal) throw unavailable(url, `it answered ${status}${words}`, cause)
  const offered = new Set(challenges.map(({ scheme }) => scheme.slice(0, 30)))
  const isUnsupported = offered.size > 0 && !offered.has('basic') && !offered.has('bearer')
  if (isUnsupported) {
    const why = `it offers ways to authenticate that are not supported (${[...offered].join(', ')}); supported are basic and bearer`
    throw refused(url, `${why} (${status})${words}`, cause)
  }
  const why = credentials
    ? `it refused the credentials ${credentials.from}`
    : `it refused a request without credentials, and ${missing}`
  throw refused(url, `${why} (${status})${words}`, cause)
}
