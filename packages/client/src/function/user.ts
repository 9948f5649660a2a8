/** The person who calls a service with `MCM.ACCESS: "users"`. */

/** As the gateway names the person in `X-Selvedge-User`. */
export interface ServiceUser {
  /** ID of the person: the `sub` of the app's ID tokens. */
  readonly sub: string
  /** E-mail address, for people to read. It proves nothing. */
  readonly name: string
  /** Names of the groups of the device's account that the person is in. */
  readonly groups: readonly string[]
}

/** `Headers` of a request, or an object with names in lower case, as in Node.js. */
type RequestHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** As the gateway writes it: a string, a display string (RFC 9651 § 3.3.8) and an inner list of strings. */
const shape =
  /^sub="([\w-]{1,64})", name=%"((?:[\x20-\x21\x23-\x24\x26-\x7e]|%[0-9a-f]{2})*)", groups=\(([a-z0-9._" -]*)\)$/
const group = /^"[a-z0-9][a-z0-9._-]{0,31}"$/

const headerName = 'x-selvedge-user'
/** Characters that the gateway never exceeds. */
const maxLength = 8192

/**
 * The person of a request, from the header `X-Selvedge-User` (a dictionary of RFC 9651). Only the gateway can send it: it removes the
 * header from every request, and adds it for a service with `MCM.ACCESS: "users"`.
 *
 * @returns undefined without the header, or if it is malformed
 *
 * @example
 * ```ts
 * import { readUser } from '@selvedge/client/function'
 *
 * export default {
 *   fetch(request: Request) {
 *     const user = readUser(request.headers)
 *     if (!user?.groups.includes('drivers')) return new Response('for drivers', { status: 403 })
 *     return new Response(`hello ${user.name}`)
 *   },
 * }
 * ```
 */
export function readUser(headers: RequestHeaders): ServiceUser | undefined {
  const value = typeof headers.get === 'function' ? headers.get(headerName) : headers[headerName as never]
  if (typeof value !== 'string' || value.length > maxLength) return undefined
  const found = shape.exec(value)
  if (!found) return undefined
  const [, sub, name, groups] = found as unknown as [string, string, string, string]
  const quoted = groups === '' ? [] : groups.split(' ')
  if (!quoted.every((each) => group.test(each))) return undefined
  try {
    return { sub, name: decodeURIComponent(name), groups: quoted.map((each) => each.slice(1, -1)) }
  } catch {
    return undefined
  }
}
