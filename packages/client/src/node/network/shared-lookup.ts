/**
 * Addresses of names from the system, one question at a time for each name. A question cannot be cancelled, and the system has two
 * threads for them: while a name server does not answer, each attempt of a device would add questions that wait, without an end.
 *
 * Where the name server needs long, or does not answer, the addresses that it gave last count (RFC 8767): on a line that loses packets,
 * most questions are lost, and the connection is tried all the same.
 */
import type { LookupAddress } from 'node:dns'
import { lookup as lookUp } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'

/** Names that are asked for at the same time, and that are stored: a registry or a function may name many. */
const maxNames = 1000
/** Milliseconds for which an answer may count, and after which a question without an answer has the last one (RFC 8767 § 5). */
const limits = { staleMs: 86_400_000, waitMs: 1800 } as const

/** Gets the addresses of a name from the system. */
export type AskSystem = (host: string) => Promise<LookupAddress[]>

// In the order of the system (RFC 6724), which knows the networks of this machine.
const askSystem: AskSystem = (host) => lookUp(host, { all: true, order: 'verbatim' })

/** Codes of a name server that does not answer. A name that does not exist any more has no addresses. */
const unanswered: ReadonlySet<unknown> = new Set(['EAI_AGAIN', 'ETIMEOUT', 'ESERVFAIL'])

const families: Readonly<Record<string, number>> = { IPv4: 4, IPv6: 6 }

export function createSharedLookup(ask: AskSystem = askSystem): LookupFunction {
  const asking = new Map<string, Promise<LookupAddress[]>>()
  const answered = new Map<string, { readonly found: LookupAddress[]; readonly at: number }>()

  async function askOnce(host: string): Promise<LookupAddress[]> {
    try {
      const found = await ask(host)
      answered.delete(host)
      const [oldest] = answered.keys()
      if (answered.size >= maxNames && oldest !== undefined) answered.delete(oldest)
      answered.set(host, { found, at: performance.now() })
      return found
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      const known = unanswered.has(code) ? lastOf(host) : undefined
      if (!known) answered.delete(host)
      if (known) return known
      throw cause
    } finally {
      asking.delete(host)
    }
  }

  function lastOf(host: string): LookupAddress[] | undefined {
    const last = answered.get(host)
    return last && performance.now() - last.at < limits.staleMs ? last.found : undefined
  }

  function find(host: string): Promise<LookupAddress[]> {
    const present = asking.get(host)
    if (!present && asking.size >= maxNames)
      return Promise.reject(
        Object.assign(new Error('the name servers do not answer: too many names wait'), {
          code: 'EAI_AGAIN',
        }),
      )
    const asked = present ?? askOnce(host)
    if (!present) asking.set(host, asked)
    const last = lastOf(host)
    return last ? firstOf(asked, last) : asked
  }

  return (host, { family, all }, callback) => {
    const wanted = families[family ?? ''] ?? Number(family ?? 0)
    find(host).then(
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
}

/** The answer if it comes soon, or else the last one. */
function firstOf(asked: Promise<LookupAddress[]>, last: LookupAddress[]): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(resolve, limits.waitMs, last)
    asked.then(resolve, reject).finally(() => clearTimeout(late))
  })
}

/** For `net.connect` and its like: one for the process: it protects its threads. */
export const sharedLookup: LookupFunction = createSharedLookup()
