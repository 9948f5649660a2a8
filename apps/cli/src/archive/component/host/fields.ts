/** `fields` of `wasi:http/types`: headers and trailers, checked when they are set (RFC 9110 § 5). */
import { Refusal, Trap } from './failure.ts'

/** Bytes of all names and values of one set of fields. */
export const maxFieldBytes = 65_536

/** Fields of one set. */
export const maxFields = 256

type HeaderError = { readonly tag: 'invalid-syntax' | 'forbidden' | 'immutable' }

/** Headers of a connection, and those that the host sets. */
const forbidden = new Set([
  'connection',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'transfer-encoding',
  'te',
  'upgrade',
])

const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const refuse = (tag: HeaderError['tag']) => new Refusal<HeaderError>({ tag })

/** No control character but a tab: a line break would begin another header. */
const isFieldValue = (bytes: Uint8Array): boolean =>
  bytes.every((byte) => byte === 0x09 || (byte >= 0x20 && byte !== 0x7f))

function checkedName(raw: string): string {
  const name = raw.toLowerCase()
  if (!token.test(name)) throw refuse('invalid-syntax')
  if (forbidden.has(name) || name.startsWith('x-selvedge-')) throw refuse('forbidden')
  return name
}

type Entry = readonly [name: string, value: Uint8Array]

export class Fields {
  #entries: Entry[] = []
  #isImmutable = false

  static fromList(entries: readonly Entry[]): Fields {
    const fields = new Fields()
    for (const [name, value] of entries) fields.append(name, value)
    return fields
  }

  /** Headers that were received: the component cannot change them. */
  static received(headers: Headers): Fields {
    const fields = new Fields()
    for (const [name, value] of headers)
      if (!forbidden.has(name)) fields.#entries.push([name, Buffer.from(value, 'latin1')])
    return fields.freeze()
  }

  /** From here on, changes are refused: the fields belong to a request or a response. */
  freeze(): this {
    this.#isImmutable = true
    return this
  }

  get(raw: string): Uint8Array[] {
    const name = raw.toLowerCase()
    return this.#entries.flatMap((each) => (each[0] === name ? [each[1]] : []))
  }

  has(name: string): boolean {
    return this.get(name).length > 0
  }

  set(raw: string, values: readonly Uint8Array[]): void {
    const others = this.#without(raw)
    this.#replace([...others, ...values.map((value): Entry => [checkedName(raw), value])])
  }

  delete(raw: string): void {
    this.#replace(this.#without(raw))
  }

  append(raw: string, value: Uint8Array): void {
    this.#checkMutable()
    this.#replace([...this.#entries, [checkedName(raw), value]])
  }

  entries(): Entry[] {
    return [...this.#entries]
  }

  clone(): Fields {
    const copy = new Fields()
    copy.#entries = [...this.#entries]
    return copy
  }

  toHeaders(): Headers {
    const headers = new Headers()
    for (const [name, value] of this.#entries) headers.append(name, Buffer.from(value).toString('latin1'))
    return headers
  }

  /** Bytes of the body that its content-length has; undefined without one. */
  contentLength(): number | undefined {
    const [value] = this.get('content-length')
    const text = value && Buffer.from(value).toString('latin1')
    return text && /^\d{1,15}$/.test(text) ? Number(text) : undefined
  }

  #without(raw: string): Entry[] {
    this.#checkMutable()
    const name = checkedName(raw)
    return this.#entries.filter((each) => each[0] !== name)
  }

  #replace(entries: Entry[]): void {
    if (!entries.every(([, value]) => isFieldValue(value))) throw refuse('invalid-syntax')
    const bytes = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
    if (entries.length > maxFields || bytes > maxFieldBytes)
      throw new Trap(`fields have more than ${maxFields} entries, or more than ${maxFieldBytes} bytes`)
    // Copies: a value may be a view of the memory of the component.
    this.#entries = entries.map(([name, value]) => [name, Uint8Array.from(value)])
  }

  #checkMutable(): void {
    if (this.#isImmutable) throw refuse('immutable')
  }
}
