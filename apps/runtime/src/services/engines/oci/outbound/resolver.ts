/**
 * The name server of a container. It answers IPv4 addresses that are public, of names that `MCM.OUTBOUND` allows, and opens exactly these
 * addresses before it answers. A name that leads to the device, to a network that is not public or to a metadata service leads nowhere
 * (DNS rebinding): the addresses that were checked are those that are opened.
 */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { kindOf } from '@selvedge/service-kit/addresses'
import { safely } from '@selvedge/service-kit/safely'
import type { Destinations } from './destinations.ts'
import {
  type DnsAnswer,
  dnsResults,
  maxAddresses,
  type Question,
  readQuestion,
  typeA,
  writeAnswer,
} from './dns-message.ts'
import type { AskMember } from './members.ts'
import type { Opened } from './opened.ts'

/** Questions under way, per second and at once: what is above is dropped, and the container sends it again. */
const limits = { underWay: 32, perSecond: 100, burst: 200 }
/** Answers that are stored, and seconds for which they are valid. */
const stored = { answers: 256, minSeconds: 30, maxSeconds: 300 }
/** Seconds for which the address of a member is valid: a redeployed one has another address. */
const memberSeconds = 2
/** Lines in the log of the container, of names that lead to addresses that are not public: one for each name. */
const maxNoted = 32

/** An address of a name. */
export interface FoundAddress {
  readonly address: string
  /** Seconds for which it is valid. */
  readonly ttl: number
}

/** Sends a question to the name servers of the device. Rejects with the codes of `node:dns`, such as ENOTFOUND. */
export type AskUpstream = (name: string) => Promise<readonly FoundAddress[]>

export interface ResolverParts {
  /** Address of this device in the network of the container. */
  readonly address: string
  /** Address of the container: questions of others are not answered. */
  readonly client: string
  readonly destinations: Pick<Destinations, 'isPublic' | 'names'>
  readonly opened: Opened
  /** Absent: the container has no app. */
  readonly askMember?: AskMember | undefined
  readonly ask: AskUpstream
  readonly log: (text: string) => void
  /** Monotonic milliseconds. */
  readonly now: () => number
}

export interface Resolver {
  /** UDP port at its address. */
  readonly port: number
  close(): void
}

export type Answering = (packet: Buffer) => Promise<Buffer | undefined>

/** Opens a socket for the questions of one container. @throws Error of the system */
export async function openResolver(parts: ResolverParts): Promise<Resolver> {
  const socket = createSocket('udp4')
  const answer = createAnswering(parts)
  let isClosed = false
  const receive = async (packet: Buffer, { address, port }: RemoteInfo) => {
    if (address !== parts.client) return
    const sent = await answer(packet)
    if (sent && !isClosed) socket.send(sent, port, address, () => undefined)
  }
  socket.bind({ port: 0, address: parts.address, exclusive: true })
  try {
    await once(socket, 'listening')
  } catch (cause) {
    socket.close()
    throw cause
  }
  socket.on('error', () => undefined)
  socket.on('message', safely('oci.resolver', receive))
  socket.unref()
  return {
    port: socket.address().port,
    close() {
      if (!isClosed) socket.close()
      isClosed = true
    },
  }
}

/** @returns what answers a packet; undefined: it is not answered */
export function createAnswering(parts: Omit<ResolverParts, 'address' | 'client'>): Answering {
  const { destinations, ask, now } = parts
  const { isPublic, names } = destinations
  const underWay = new Set<object>()
  const answers = new Map<string, { answer: DnsAnswer; endsAt: number }>()
  const noted = new Set<string>()
  const mayPass = createRate(now)

  async function find(name: string): Promise<DnsAnswer> {
    const known = answers.get(name)
    if (known && known.endsAt > now()) return known.answer
    const answer = await ask(name).then((found) => check(name, found), failureOf)
    answers.delete(name)
    if (answer.result === dnsResults.failed) return answer
    const [oldest] = answers.keys()
    if (answers.size >= stored.answers && oldest !== undefined) answers.delete(oldest)
    answers.set(name, { answer, endsAt: now() + answer.ttlSeconds * 1000 })
    return answer
  }

  function check(name: string, found: readonly FoundAddress[]): DnsAnswer {
    const addresses = found.map(({ address }) => address).filter((each) => kindOf(each) === 'public')
    const hidden = found.find(({ address }) => kindOf(address) !== 'public')
    if (hidden && noted.size < maxNoted && !noted.has(name)) {
      noted.add(name)
      parts.log(
        `${name.slice(0, 100)} resolves to ${hidden.address.slice(0, 45)}, which is not public; it is not opened (MCM.OUTBOUND)`,
      )
    }
    const ttl = Math.min(...found.map((each) => each.ttl), stored.maxSeconds)
    return {
      result: addresses.length > 0 ? dnsResults.ok : dnsResults.noName,
      addresses: [...new Set(addresses)].slice(0, maxAddresses),
      ttlSeconds: Math.max(stored.minSeconds, Number.isFinite(ttl) ? Math.floor(ttl) : 0),
    }
  }

  async function resolve({ name, type }: Question): Promise<DnsAnswer> {
    const member = parts.askMember && (await resolveMember(parts.askMember, name, type, parts.log))
    if (member) return member
    const ports = names.get(name)
    if (!isPublic && ports === undefined) return nothing(dnsResults.noName)
    // Without this answer, a program would take a name without IPv6 addresses for one that does not exist.
    if (type !== typeA) return nothing(dnsResults.ok)
    const answer = await find(name)
    const openings = answer.addresses.flatMap((address) => (ports ?? []).map((port) => ({ address, port })))
    if (isPublic || openings.length === 0) return answer
    return parts.opened.open(openings).then(
      () => answer,
      (cause: Error) => {
        parts.log(
          `the addresses of ${name.slice(0, 100)} could not be opened: ${cause.message.slice(0, 300)}`,
        )
        return nothing(dnsResults.failed)
      },
    )
  }

  return async (packet) => {
    const question = readQuestion(packet)
    if (!question || underWay.size >= limits.underWay || !mayPass()) return undefined
    underWay.add(question)
    try {
      return writeAnswer(question, await resolve(question))
    } finally {
      underWay.delete(question)
    }
  }
}

/** @returns undefined for a name that is not of the app */
async function resolveMember(
  ask: AskMember,
  name: string,
  type: number,
  log: ResolverParts['log'],
): Promise<DnsAnswer | undefined> {
  const answer = (result: number, addresses: readonly string[] = []): DnsAnswer => ({
    result,
    addresses,
    ttlSeconds: memberSeconds,
  })
  try {
    const address = await ask(name)
    if (address === undefined) return undefined
    if (type !== typeA) return answer(dnsResults.ok)
    // A failure, and not a name that does not exist: programs try it again.
    return address === null ? answer(dnsResults.failed) : answer(dnsResults.ok, [address])
  } catch (cause) {
    log(`the member ${name.slice(0, 100)} could not be opened: ${(cause as Error).message.slice(0, 300)}`)
    return answer(dnsResults.failed)
  }
}

const nothing = (result: number): DnsAnswer => ({ result, addresses: [], ttlSeconds: stored.minSeconds })

/** Codes of names that do not exist, or have no IPv4 address. */
const withoutAddress = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])
const failureOf = (cause: NodeJS.ErrnoException): DnsAnswer =>
  nothing(withoutAddress.has(cause.code ?? '') ? dnsResults.noName : dnsResults.failed)

/** Whether one more question may be answered now. */
function createRate(now: () => number): () => boolean {
  let left = limits.burst
  let at = now()
  return () => {
    const passed = now() - at
    at += passed
    left = Math.min(limits.burst, left + (passed / 1000) * limits.perSecond)
    if (left < 1) return false
    left -= 1
    return true
  }
}

/**
 * Sends questions to name servers. It uses no thread of the process: a server that never answers delays nothing else.
 *
 * @param servers addresses, each with an optional port; without: those that the device has at the time of the question
 */
export const createAsk =
  (servers: readonly string[]): AskUpstream =>
  async (name) => {
    const { Resolver: Upstream } = process.getBuiltinModule('node:dns').promises
    const upstream = new Upstream({ timeout: 2500, tries: 2 })
    if (servers.length > 0) upstream.setServers(servers)
    return upstream.resolve4(name, { ttl: true })
  }
