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

/** A record; `flush` says that it replaces all others of its name and type (RFC 6762 § 10.2). Seconds. */
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

/** Most of anything in one packet, and most labels and jumps of one name. */
const most = { entries: 200, labels: 40 } as const
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

/** @throws Error where it is no message */
export function decodeMessage(packet: Buffer): Message {
  const counts = [4, 6, 8, 10].map((at) => packet.readUInt16BE(at))
  if (counts.some((count) => count > most.entries)) throw new Error('it has too many entries')
  let at = 12
  const questions: Question[] = []
  for (let left = counts[0]!; left > 0; left--) {
    const { name, end } = decodeName(packet, at)
    const type = nameOfType.get(packet.readUInt16BE(end))
    if (type) questions.push({ name, type })
    at = end + 4
  }
  const section = (count: number): DnsRecord[] => {
    const records: DnsRecord[] = []
    for (let left = count; left > 0; left--) {
      const { name, end } = decodeName(packet, at)
      const type = nameOfType.get(packet.readUInt16BE(end))
      const flush = (packet.readUInt16BE(end + 2) & topBit) !== 0
      const ttl = packet.readUInt32BE(end + 4)
      const length = packet.readUInt16BE(end + 8)
      const start = end + 10
      at = start + length
      if (at > packet.length) throw new Error('a record is cut off')
      const data = decodeData(packet, type, start, length)
      if (data !== undefined) records.push({ name, type, ttl, flush, data } as DnsRecord)
    }
    return records
  }
  return {
    id: packet.readUInt16BE(0),
    isResponse: (packet.readUInt16BE(2) & topBit) !== 0,
    questions,
    answers: section(counts[1]!),
    authorities: section(counts[2]!),
    additionals: section(counts[3]!),
  }
}

function decodeData(
  packet: Buffer,
  type: TypeName | undefined,
  start: number,
  length: number,
): DnsRecord['data'] | undefined {
  const bytes = packet.subarray(start, start + length)
  if (type === 'PTR') return decodeName(packet, start).name
  if (type === 'SRV') return { port: bytes.readUInt16BE(4), target: decodeName(packet, start + 6).name }
  if (type === 'A' && length === 4) return bytes.join('.')
  if (type === 'AAAA' && length === 16) return decodeIpv6(bytes)
  if (type !== 'TXT') return undefined
  const strings: string[] = []
  for (let at = 0; at < length; at += 1 + bytes[at]!)
    strings.push(bytes.toString('utf8', at + 1, at + 1 + bytes[at]!))
  return strings
}

/** Names point back into the packet (RFC 1035 § 4.1.4); each jump goes further back, so that none goes on for ever. */
function decodeName(packet: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = []
  let end: number | undefined
  for (let at = start, limit = start; labels.length <= most.labels; ) {
    const length = packet.readUInt8(at)
    if (length === 0) return { name: labels.join('.'), end: end ?? at + 1 }
    if (length >= 0xc0) {
      end ??= at + 2
      at = packet.readUInt16BE(at) & 0x3fff
      if (at >= limit) throw new Error('a name points forwards')
      limit = at
    } else if (length < 64) {
      if (at + 1 + length > packet.length) throw new Error('a name is cut off')
      labels.push(packet.toString('utf8', at + 1, at + 1 + length).replaceAll('.', '\\.'))
      at += 1 + length
    } else throw new Error('a label is of an unknown kind')
  }
  throw new Error('a name is too long')
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
