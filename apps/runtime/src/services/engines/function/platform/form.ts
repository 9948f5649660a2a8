/** `request.handleFormRequest`: the fields of `multipart/form-data` (RFC 7578) and of URL-encoded forms. */
import { encodeBase64 } from './binary-text.ts'
import { decode } from './own.ts'
import type { Files } from './storage.ts'

export const formLimits = { fields: 1000, headBytes: 16 * 1024, nameCharacters: 1024 } as const

const ampersand = 0x26

interface Decision {
  /** `get` hands the value over, `store` keeps it as a file of the storage; anything else passes it over. */
  readonly action?: string
  /** Name of the file. */
  readonly path?: string
}

export interface FormCallbacks {
  /** Decides about a field. @param filename undefined for a field that is no file */
  readonly found?: (name: string, filename: string | undefined) => Decision | undefined
  readonly get?: (name: string, value: string) => void
  /** Called after a file was stored. @param size its bytes */
  readonly store?: (path: string, size: number) => void
}

interface Field {
  readonly name: string
  readonly filename: string | undefined
  readonly value: Uint8Array
}

/** The request has no form, or a broken one. Routers answer with its `code`. */
export class FormError extends Error {
  override readonly name = 'FormError'
  readonly code = 400
}

/**
 * Calls back for each field of a form, in order and before it returns.
 *
 * @throws FormError; what a callback or the storage throws
 */
export function handleForm(
  contentType: string | undefined,
  body: Uint8Array,
  files: Files,
  { found, get, store }: FormCallbacks,
): void {
  for (const { name, filename, value } of fieldsOf(contentType ?? '', body)) {
    const { action, path } = found?.(name, filename) ?? {}
    if (action === 'get') get?.(name, decode(value))
    if (action !== 'store') continue
    const target = String(path ?? filename ?? name)
    files.write(target, encodeBase64(value))
    store?.(target, value.length)
  }
}

function fieldsOf(contentType: string, body: Uint8Array): Iterable<Field> {
  const [type = ''] = contentType.toLowerCase().split(';')
  if (type.trim() === 'application/x-www-form-urlencoded') return encodedFields(body)
  const boundary = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(contentType)
  if (type.trim() === 'multipart/form-data' && boundary)
    return multipartFields(body, boundary[1] ?? boundary[2]!)
  throw new FormError(
    'the request has no form: send multipart/form-data or application/x-www-form-urlencoded',
  )
}

function* encodedFields(body: Uint8Array): Generator<Field> {
  // Counted before anything is decoded: the platform would make an object of every field.
  let separators = 0
  for (let at = body.indexOf(ampersand); at >= 0; at = body.indexOf(ampersand, at + 1))
    expectFewer(++separators)
  let count = 0
  for (const [name, value] of new URLSearchParams(decode(body))) {
    expectFewer(++count)
    yield { name: checkedName(name), filename: undefined, value: new TextEncoder().encode(value) }
  }
}

function* multipartFields(body: Uint8Array, boundary: string): Generator<Field> {
  // One character a byte: a text is searched in linear time.
  const text = new TextDecoder('latin1').decode(body)
  const delimiter = `\r\n--${boundary}`
  let at = text.startsWith(delimiter.slice(2)) ? delimiter.length - 2 : after(text, delimiter, 0)
  for (let count = 1; !text.startsWith('--', at); count++) {
    expectFewer(count)
    const start = after(text, '\r\n', at)
    const head = text.startsWith('\r\n', start) ? start : text.indexOf('\r\n\r\n', start)
    const end = text.indexOf(delimiter, head)
    if (head < 0 || end < 0 || head - start > formLimits.headBytes) throw broken()
    const headers = decode(body.subarray(start, head))
    const from = Math.min(text.startsWith('\r\n', start) ? head + 2 : head + 4, end)
    yield { ...dispositionOf(headers), value: body.subarray(from, end) }
    at = end + delimiter.length
  }
}

const broken = () => new FormError('the form is broken, or was cut off')

function after(text: string, piece: string, from: number): number {
  const found = text.indexOf(piece, from)
  if (found < 0) throw broken()
  return found + piece.length
}

function expectFewer(count: number): void {
  if (count > formLimits.fields) throw new FormError(`the form has more than ${formLimits.fields} fields`)
}

function checkedName(name: string): string {
  if (name.length <= formLimits.nameCharacters) return name
  throw new FormError(`the form has a field name of more than ${formLimits.nameCharacters} characters`)
}

/** Name and file name of a part (RFC 7578 § 4.2). Browsers write a quote in them as %22. */
function dispositionOf(headers: string): Pick<Field, 'name' | 'filename'> {
  const line = headers.split('\r\n').find((each) => /^content-disposition:/i.test(each)) ?? ''
  const name = parameterOf(line, 'name')
  if (name === undefined) throw new FormError('the form has a field without a name')
  const filename = parameterOf(line, 'filename')
  return { name: checkedName(name), filename: filename === undefined ? undefined : checkedName(filename) }
}

function parameterOf(line: string, name: string): string | undefined {
  const found = line.matchAll(/;[ \t]*([a-z]+)=(?:"([^"]*)"|([^;"\s]+))/gi)
  for (const [, key = '', quoted, bare] of found)
    if (key.toLowerCase() === name) return (quoted ?? bare)?.replaceAll('%22', '"')
  return undefined
}
