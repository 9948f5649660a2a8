/** Remembers the services of a type that are announced on the local networks. */
import type { DnsRecord, Message } from './dns.ts'
import type { Origin } from './multicast.ts'

/** A service that was heard. */
interface Heard {
  readonly txt: ReadonlyMap<string, string>
  /** Address that it was heard from, without zone. */
  readonly from: string
  /** Its addresses on the network that it was heard on. */
  readonly addresses: readonly string[]
  /** Milliseconds of the clock of the browser. */
  readonly heardAt: number
}

interface Entry {
  txt?: ReadonlyMap<string, string>
  readonly from: string
  readonly addresses: Set<string>
  heardAt: number
  endsAt: number
}

export interface Browser {
  receive(message: Message, origin: Origin): void
  services(): Heard[]
}

/** Most services that are remembered. */
const most = 1000
/** Milliseconds for which one is remembered that has not said for how long. */
const usualLife = 120_000

/** @param type such as `_selvedge._tcp.local` */
export function createBrowser(type: string, now: () => number): Browser {
  const entries = new Map<string, Entry>()
  const isOurs = (name: string) => name.toLowerCase().endsWith(`.${type}`)

  function forget(): void {
    for (const [key, { endsAt }] of entries) if (endsAt < now()) entries.delete(key)
  }

  function entryOf(key: string, from: string): Entry {
    let entry = entries.get(key)
    if (!entry) {
      forget()
      entry = { from, addresses: new Set([from]), heardAt: now(), endsAt: now() + usualLife }
      if (entries.size < most) entries.set(key, entry)
    }
    return entry
  }

  function addressesOf(target: string, records: readonly DnsRecord[], { network }: Origin): string[] {
    return records.flatMap((each) => {
      const isAddress = each.type === 'A' || each.type === 'AAAA'
      if (!isAddress || each.name.toLowerCase() !== target.toLowerCase()) return []
      const zoned = each.data.startsWith('fe80:') ? `${each.data}%${network.name}` : each.data
      return network.holds(zoned) ? [each.data] : []
    })
  }

  return {
    receive({ isResponse, answers, additionals }, origin) {
      // Who is not at the port of the group speaks for nobody (RFC 6762 § 11).
      if (!isResponse || origin.replyAlone) return
      const { network, address: from } = origin
      const records = [...answers, ...additionals]
      const key = (instance: string) => `${network.name} ${from} ${instance.toLowerCase()}`
      for (const record of records) {
        if (record.type === 'PTR' && record.name.toLowerCase() === type && isOurs(record.data)) {
          if (record.ttl === 0) entries.delete(key(record.data))
          else entryOf(key(record.data), from).endsAt = now() + record.ttl * 1000
        }
      }
      for (const record of records) {
        if ((record.type !== 'TXT' && record.type !== 'SRV') || !isOurs(record.name) || record.ttl === 0)
          continue
        const entry = entryOf(key(record.name), from)
        entry.heardAt = now()
        entry.endsAt = Math.max(entry.endsAt, now() + record.ttl * 1000)
        if (record.type === 'TXT') entry.txt = readStrings(record.data)
        else for (const each of addressesOf(record.data.target, records, origin)) entry.addresses.add(each)
      }
    },
    services() {
      forget()
      return [...entries.values()].flatMap(({ txt, from, addresses, heardAt }) =>
        txt ? [{ txt, from, addresses: [...addresses], heardAt }] : [],
      )
    },
  }
}

/** `key=value` strings; of a key that comes twice the first counts (RFC 6763 § 6.4). */
function readStrings(strings: readonly string[]): Map<string, string> {
  const txt = new Map<string, string>()
  for (const text of strings) {
    const at = text.indexOf('=')
    const name = text.slice(0, at).toLowerCase()
    if (at > 0 && !txt.has(name)) txt.set(name, text.slice(at + 1))
  }
  return txt
}
