/** Questions of containers to the resolver, and its answers (RFC 1035 § 4): one question, and IPv4 addresses. */

export interface Question {
  readonly id: number
  /** In lower case, without the dot at the end. */
  readonly name: string
  readonly type: number
  /** Bytes of the question, for the answer. */
  readonly bytes: Buffer
  readonly wantsRecursion: boolean
}

/** Type of a record with an IPv4 address. */
export const typeA = 1
const classInternet = 1

/** Results of an answer (RFC 1035 § 4.1.1). */
export const dnsResults = { ok: 0, failed: 2, noName: 3 } as const

/** Bytes of the header, of a question as it can arrive, and of a name (RFC 1035 § 2.3.4). */
const headerBytes = 12
const maxBytes = 1232
const maxNameBytes = 255
/** Addresses of an answer: with the longest name it has less than the 512 bytes that every program accepts (§ 4.2.1). */
export const maxAddresses = 8

/** @returns undefined for what is not one standard question of the Internet with a plain name */
export function readQuestion(packet: Buffer): Question | undefined {
  if (packet.length < headerBytes + 5 || packet.length > maxBytes) return undefined
  const flags = packet.readUInt16BE(2)
  const isQuestion = (flags & 0xf800) === 0 && packet.readUInt16BE(4) === 1
  const labels = isQuestion ? readLabels(packet) : undefined
  if (!labels || labels.end + 4 > packet.length) return undefined
  if (packet.readUInt16BE(labels.end + 2) !== classInternet) return undefined
  return {
    id: packet.readUInt16BE(0),
    name: labels.name,
    type: packet.readUInt16BE(labels.end),
    bytes: Buffer.from(packet.subarray(headerBytes, labels.end + 4)),
    wantsRecursion: (flags & 0x0100) !== 0,
  }
}

function readLabels(packet: Buffer): { name: string; end: number } | undefined {
  const labels: string[] = []
  let at = headerBytes
  for (let length = packet[at]; length !== 0; length = packet[at]) {
    // A pointer (0xc0) has nothing before it to lead to.
    if (length === undefined || length > 63 || at - headerBytes + length + 2 > maxNameBytes) return undefined
    const label = packet.toString('latin1', at + 1, at + 1 + length).toLowerCase()
    if (label.length < length || !/^[a-z0-9_-]+$/.test(label)) return undefined
    labels.push(label)
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

export interface DnsAnswer {
  readonly result: number
  /** IPv4; those after the eighth are left out. */
  readonly addresses: readonly string[]
  readonly ttlSeconds: number
}

export function writeAnswer(question: Question, { result, addresses, ttlSeconds }: DnsAnswer): Buffer {
  const sent = addresses.slice(0, maxAddresses)
  const head = Buffer.alloc(headerBytes)
  head.writeUInt16BE(question.id, 0)
  // A response, with recursion available.
  head.writeUInt16BE(0x8080 | (question.wantsRecursion ? 0x0100 : 0) | result, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(sent.length, 6)
  const records = sent.map((address) => {
    const record = Buffer.alloc(16)
    // The name is the one of the question.
    record.writeUInt16BE(0xc000 | headerBytes, 0)
    record.writeUInt16BE(typeA, 2)
    record.writeUInt16BE(classInternet, 4)
    record.writeUInt32BE(ttlSeconds, 6)
    record.writeUInt16BE(4, 10)
    for (const [at, byte] of address.split('.').entries()) record[12 + at] = Number(byte)
    return record
  })
  return Buffer.concat([head, question.bytes, ...records])
}
