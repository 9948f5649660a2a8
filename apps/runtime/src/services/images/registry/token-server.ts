/** Tokens of the token server that a registry names (the token protocol of Docker's distribution, with its form of OAuth 2.0). */
import { RpcError } from '@selvedge/protocol'
import * as z from 'zod'
import type { Challenge } from './challenges.ts'
import { readComplaint } from './complaint.ts'
import type { Lookup } from './credentials.ts'
import { type Answer, type HttpGet, readText, unavailable } from './http-get.ts'
import { UnexpectedStatus } from './status.ts'

/** Largest answer in bytes. */
const maxAnswer = 64 * 1024
const tokenAnswer = z.object({ token: z.string().optional(), access_token: z.string().optional() })

export const refused = (url: string, why: string, cause: UnexpectedStatus): RpcError =>
  new RpcError('registry_refused', `${new URL(url).host}: ${why}`, { cause })

/**
 * Requests a token: with POST if there is an identity token, else with GET, and the password if there is one.
 *
 * @param url the realm of the challenge
 * @throws RpcError `registry_unavailable`, `registry_refused`
 */
export async function requestToken(
  httpGet: HttpGet,
  url: URL,
  { parameters }: Challenge,
  repository: string,
  lookup: Lookup,
): Promise<string> {
  const service = parameters.get('service')
  const asked = {
    ...(service !== undefined && { service }),
    scope: parameters.get('scope') || `repository:${repository}:pull`,
  }
  const { basic, identityToken } = lookup.credentials ?? {}
  if (identityToken !== undefined) {
    const grant = { grant_type: 'refresh_token', client_id: 'selvedge', refresh_token: identityToken }
    return readToken(await httpGet(url.href, {}, new URLSearchParams({ ...asked, ...grant })), url, lookup)
  }
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value)
  const headers = basic === undefined ? {} : { Authorization: `Basic ${basic}` }
  return readToken(await httpGet(url.href, headers), url, lookup)
}

/** @throws RpcError */
async function readToken(answered: Answer, { href }: URL, lookup: Lookup): Promise<string> {
  if (answered.status !== 200) return refuse(answered, href, lookup)
  try {
    const { token, access_token } = tokenAnswer.parse(JSON.parse(await readText(answered, maxAnswer)))
    const found = token || access_token
    if (found !== undefined && /^[\x21-\x7e]+$/.test(found)) return found
  } catch (cause) {
    throw unavailable(href, 'it sent an answer that is no token', cause)
  }
  throw unavailable(href, 'it sent an answer without a token')
}

/** @throws RpcError */
async function refuse(answered: Answer, href: string, { credentials, missing }: Lookup): Promise<never> {
  const { status } = answered
  const cause = new UnexpectedStatus(answered, answered.origin)
  const words = await readComplaint(answered, credentials?.secrets ?? [])
  // An identity token that has expired is answered with 400 (RFC 6749 § 5.2).
  const isRefusal = status === 401 || status === 403 || (status === 400 && credentials?.identityToken)
  if (!isRefusal) throw unavailable(href, `it refused a token with ${status}${words}`, cause)
  const why = credentials
    ? `it refused the credentials ${credentials.from}`
    : `it gives a token only for credentials, and ${missing}`
  throw refused(href, `${why} (${status})${words}`, cause)
}
