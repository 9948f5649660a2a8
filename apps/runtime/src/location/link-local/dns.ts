/**
 * Messages of the DNS (RFC 1035 § 4), as far as multicast DNS-SD needs them: PTR, SRV, TXT, A and AAAA. Other records are
 * passed over. Ours, since the libraries for it take 4 to 22 MB of a device's memory (measured on Node 24).
 */

const types = { A: 1, PTR: 12, TXT: 16, AAAA: 28, SRV: 33, ANY: 255 } as const
type TypeName = keyof typeof types
const nameOfType = new Map<number, TypeName>(
  Object.entries(types).map(([name, number]) => [number, name as TypeName]),
)

interface Question {
  readonly name: string
  readonly type: TypeName
}

/** A record; `flush` means that it replaces all others of its name and type (RFC 6762 § 10.2). Seconds. */
export type DnsRecord = { readonly name: string; readonly ttl: number; readonly flush: boolean } & (
  | { readonly type: 'A' | 'AAAA' | 'PTR'; readonly data: string }
  | { readonly type: 'TXT'; readonly data: readonly string[] }
  | { readonly type: 'SRV'; readonly data: { readonly port: number; readonly target: string } }
)

export interface Message {
  readonly id: number
  readonly isResponse: boolean
  readonly questions: readonly Question[]
  readonly answers: readonly DnsRecord[]
  /** What a probe proposes (RFC 6762 § 8.2). */
  readonly authorities: readonly DnsRecord[]
  readonly additionals: readonly DnsRecord[]
}

/** Entries of one packet; bytes of one name (RFC 1035 § 2.3.4), and its labels and pointers: a reversed IPv6 address has 35. */
const max = { entries: 256, nameBytes: 255, nameParts: 48 } as const
const topBit = 0x8000
const internet = 1

export function encodeMessage(
  message: Partial<Omit<Message, 'isResponse'>> & { readonly isResponse: boolean },
): Buffer {
  const { id = 0, isResponse, questions = [], answers = [], authorities = [], additionals = [] } = message
  const head = Buffer.alloc(12)
  head.writeUInt16BE(id, 0)
  // Answers of multicast DNS are authoritative (RFC 6762 § 18.4).
  head.writeUInt16BE(isResponse ? 0x8400 : 0, 2)
  for (const [at, list] of [questions, answers, authorities, additionals].entries())
    head.writeUInt16BE(list.length, 4 + 2 * at)
  const asked = questions.map(({ name, type }) =>
    Buffer.concat([encodeName(name), shorts(types[type], internet)]),
  )
  return Buffer.concat([head, ...asked, ...[...answers, ...authorities, ...additionals].map(encodeRecord)])
}

const shorts = (...values: number[]): Buffer => {
  const buffer = Buffer.alloc(2 * values.length)
  for (const [at, value] of values.entries()) buffer.writeUInt16BE(value, 2 * at)
  return buffer
}

function encodeRecord(record: DnsRecord): Buffer {
  const ttl = Buffer.alloc(4)
  ttl.writeUInt32BE(record.ttl)
  const data = encodeData(record)
  const kind = shorts(types[record.type], record.flush ? internet | topBit : internet)
  return Buffer.concat([encodeName(record.name), kind, ttl, shorts(data.length), data])
}

function encodeData(record: DnsRecord): Buffer {
  switch (record.type) {
    case 'PTR':
      return encodeName(record.data)
    case 'SRV':
      return Buffer.concat([shorts(0, 0, record.data.port), encodeName(record.data.target)])
    case 'TXT':
      return Buffer.concat(record.data.map(encodeText))
    case 'A':
      return Buffer.from(record.data.split('.').map(Number))
    case 'AAAA':
      return encodeIpv6(record.data)
  }
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text).subarray(0, 255)
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

/** A dot in a label is written `\.`, as instance names have them (RFC 6763 § 4.3). */
function encodeName(name: string): Buffer {
  const labels = name.split(/(?<!\\)\./).filter(Boolean)
  const parts = labels.map((label) => {
    const bytes = Buffer.from(label.replaceAll('\\.', '.')).subarray(0, 63)
    return Buffer.concat([Buffer.from([bytes.length]), bytes])
  })
  return Buffer.concat([...parts, Buffer.from([0])])
}

function encodeIpv6(address: string): Buffer {
  const [head = '', tail] = address.split('::')
  const groups = (text: string) =>
    text
      .split(':')
      .filter(Boolean)
      .map((each) => Number.parseInt(each, 16))
  const [left, right] = [groups(head), groups(tail ?? '')]
  const middle = Array<number>(Math.max(0, 8 - left.length - right.length)).fill(0)
  return shorts(...[...left, ...middle, ...right].slice(0, 8))
}

/**
 * Decodes a message in time and memory linear in its bytes, whatever they are.
 *
 * @throws Error if the packet is not a message, or exceeds a limit
 */
export function decodeMessage(packet: Buffer): Message {
  const [asked = 0, ...counts] = [4, 6, 8, 10].map((at) => packet.readUInt16BE(at))
  if (counts.reduce((sum, count) => sum + count, asked) > max.entries)
    throw new Error('it has too many entries')
  const names = new Names(packet)
  let at = 12
  const questions: Question[] = []
  for (let left = asked; left > 0; left--) {
    const { name, end } = names.read(at)
    const type = nameOfType.get(packet.readUInt16BE(end))
    if (type) questions.push({ name, type })
    at = end + 4
  }
  const section = (count: number): DnsRecord[] => {
    const records: DnsRecord[] = []
    for (let left = count; left > 0; left--) {
      const { name, end } = names.read(at)
      const type = nameOfType.get(packet.readUInt16BE(end))
      const flush = (packet.readUInt16BE(end + 2) & topBit) !== 0
      const ttl = packet.readUInt32BE(end + 4)
      const start = end + 10
      at = start + packet.readUInt16BE(end + 8)
      if (at > packet.length) throw new Error('a record is cut off')
      const data = decodeData(packet.subarray(start, at), type, (offset) => names.read(start + offset).name)
      if (data !== undefined) records.push({ name, type, ttl, flush, data } as DnsRecord)
    }
    return records
  }
  return {
    id: packet.readUInt16BE(0),
    isResponse: (packet.readUInt16BE(2) & topBit) !== 0,
    questions,
    answers: section(counts[0]!),
    authorities: section(counts[1]!),
    additionals: section(counts[2]!),
  }
}

function decodeData(
  bytes: Buffer,
  type: TypeName | undefined,
  nameAt: (offset: number) => string,
): DnsRecord['data'] | undefined {
  if (type === 'PTR') return nameAt(0)
  if (type === 'SRV') return { port: bytes.readUInt16BE(4), target: nameAt(6) }
  if (type === 'A' && bytes.length === 4) return bytes.join('.')
  if (type === 'AAAA' && bytes.length === 16) return decodeIpv6(bytes)
  if (type !== 'TXT') return undefined
  const strings: string[] = []
  for (let at = 0; at < bytes.length; at += 1 + bytes[at]!)
    strings.push(bytes.toString('utf8', at + 1, at + 1 + bytes[at]!))
  return strings
}

interface Name {
  readonly name: string
  /** Where the entry continues after it. */
  readonly end: number
  /** Bytes of its labels, and the labels and pointers that it consists of. */
  readonly bytes: number
  readonly parts: number
}

/**
 * The names of one packet. They point back into it (RFC 1035 § 4.1.4), so that many names may lead through the same bytes:
 * what begins at an offset is decoded once.
 */
class Names {
  readonly #packet: Buffer
  readonly #known = new Map<number, Name>()

  constructor(packet: Buffer) {
    this.#packet = packet
  }

  /**
   * @param limit a pointer must lead to an offset below this one: each leads further back, so pointers cannot form a loop
   * @param partsLeft labels and pointers that may still come
   */
  read(at: number, limit: number = at, partsLeft: number = max.nameParts): Name {
    const known = this.#known.get(at)
    const found = known ?? this.#decode(at, limit, partsLeft)
    if (found.parts > partsLeft || found.bytes > max.nameBytes) throw new Error('a name is too long')
    if (!known) this.#known.set(at, found)
    return found
  }

  #decode(at: number, limit: number, partsLeft: number): Name {
    if (partsLeft <= 0) throw new Error('a name is too long')
    const packet = this.#packet
    const length = packet.readUInt8(at)
    if (length === 0) return { name: '', end: at + 1, bytes: 1, parts: 1 }
    if (length >= 0xc0) {
      const target = packet.readUInt16BE(at) & 0x3fff
      if (target >= limit) throw new Error('a name points forwards')
      const rest = this.read(target, target, partsLeft - 1)
      return { ...rest, end: at + 2, parts: rest.parts + 1 }
    }
    const next = at + 1 + length
    if (length >= 64) throw new Error('a label is of an unknown kind')
    if (next > packet.length) throw new Error('a name is cut off')
    const label = packet.toString('utf8', at + 1, next).replaceAll('.', '\\.')
    const { name, end, bytes, parts } = this.read(next, limit, partsLeft - 1)
    return {
      name: name === '' ? label : `${label}.${name}`,
      end,
      bytes: bytes + 1 + length,
      parts: parts + 1,
    }
  }
}

/** In the shortest form, as the system writes addresses (RFC 5952). */
function decodeIpv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16))
  let best = { at: -1, length: 1 }
  for (let at = 0; at < 8; at++) {
    let length = 0
    while (groups[at + length] === '0') length++
    if (length > best.length) best = { at, length }
  }
  if (best.at === -1) return groups.join(':')
  return `${groups.slice(0, best.at).join(':')}::${groups.slice(best.at + best.length).join(':')}`
}
