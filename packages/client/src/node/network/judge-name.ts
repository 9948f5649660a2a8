/** Judges a name by the rules of a request before a proxy gets it, where this device can resolve it. */
import { isIP, type LookupFunction } from 'node:net'

/** Milliseconds for the name server. Behind some proxies there is no server that answers. */
const resolveMs = 2000

/** Codes of a name that was not resolved: the proxy may know it. */
const unresolved = /^(?:EAI_[A-Z]+|ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|ETIMEOUT|ECONNREFUSED)$/

/**
 * Resolves if the name has an allowed address, or no address that this device can find.
 *
 * @param lookup refuses addresses that must not be connected to
 * @throws Error of the lookup that refuses the name
 */
export function judgeName(host: string, lookup: LookupFunction, timeoutMs = resolveMs): Promise<void> {
  if (isIP(host) !== 0) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const late = setTimeout(resolve, timeoutMs)
    lookup(host, { all: true }, (cause) => {
      clearTimeout(late)
      if (!cause || unresolved.test(String(cause.code))) resolve()
      else reject(cause)
    })
  })
}
