/**
 * Addresses of names from the system, one question at a time for each name. A question cannot be cancelled, and the system has two
 * threads for them: while a name server does not answer, each attempt of a device would add questions that wait, without an end.
 */
import type { LookupAddress } from 'node:dns'
import { lookup as lookUp } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'

/** Names that are asked for at the same time: a registry or a function may name many. */
const maxAsking = 1000
const asking = new Map<string, Promise<LookupAddress[]>>()

function ask(host: string): Promise<LookupAddress[]> {
  const known = asking.get(host)
  if (known) return known
  if (asking.size >= maxAsking)
    return Promise.reject(
      Object.assign(new Error(`the name servers do not answer: too many names wait`), { code: 'EAI_AGAIN' }),
    )
  // In the order of the system (RFC 6724), which knows the networks of this machine.
  const asked = lookUp(host, { all: true, order: 'verbatim' }).finally(() => asking.delete(host))
  asking.set(host, asked)
  return asked
}

const families: Readonly<Record<string, number>> = { IPv4: 4, IPv6: 6 }

/** For `net.connect` and its like. */
export const sharedLookup: LookupFunction = (host, { family, all }, callback) => {
  const wanted = families[family ?? ''] ?? Number(family ?? 0)
  ask(host).then(
    (found) => {
      const fitting = found.filter((each) => wanted === 0 || each.family === wanted)
      const [first] = fitting
      if (!first) callback(Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' }), '', 0)
      else if (all) callback(null, fitting)
      else callback(null, first.address, first.family)
    },
    (cause) => callback(cause, '', 0),
  )
}
