/**
 * The status line and headers of a response (RFC 9112 § 4 to § 6). Whatever two parsers might read differently is refused
 * (request smuggling).
 */
import { BrokenResponse } from './broken-response.ts'

export interface ResponseHead {
  readonly status: number
  readonly message: string
  /** Names and values in turn, as they came. */
  readonly headers: readonly string[]
}

/** How the end of a body is found (RFC 9112 § 6.3). `close`: it ends with the connection. */
export type Framing = 'none' | 'length' | 'chunked' | 'close'

export interface ParsedHead extends ResponseHead {
  readonly framing: Framing
  /** Bytes of the body; 0 unless the framing is `length`. */
  readonly contentLength: number
  /** Whether the connection may carry another response (RFC 9112 § 9.3). */
  readonly isPersistent: boolean
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/
// `trimmed` removes the white space around the value: a pattern that does would take quadratic time.
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/

/**
 * @param text the head without the empty line at its end, one character a byte
 * @param hasNoBody whether the request was HEAD: its response has no body
 * @throws BrokenResponse
 */
export function parseHead(text: string, hasNoBody: boolean): ParsedHead {
  const lines = text.split('\r\n')
  const [, minor, code, message = ''] = statusLine.exec(lines[0]!) ?? []
  if (code === undefined) throw new BrokenResponse('its status line is not one of HTTP/1.1')
  const headers: string[] = []
  let length: string | undefined
  let encoding: string | undefined
  let isPersistent = minor === '1'
  for (let line = 1; line < lines.length; line++) {
    const match = headerLine.exec(lines[line]!)
    if (!match) throw new BrokenResponse('one of its headers is malformed')
    const name = match[1]!
    const value = trimmed(match[2]!)
    // The length is compared first: few names have it, and only those are converted to lower case.
    if (name.length === 14 && name.toLowerCase() === 'content-length') {
      if (!/^\d{1,15}$/.test(value) || (length !== undefined && length !== value))
        throw new BrokenResponse('its Content-Length is malformed')
      if (length !== undefined) continue
      length = value
    } else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      encoding = encoding === undefined ? value.toLowerCase() : `${encoding},${value}`
    } else if (name.length === 10 && name.toLowerCase() === 'connection') {
      if (/\bclose\b/i.test(value)) isPersistent = false
    }
    headers.push(name, value)
  }
  const status = Number(code)
  const framing = framingOf(status, encoding, length, hasNoBody)
  return {
    status,
    message,
    headers,
    framing,
    contentLength: framing === 'length' ? Number(length) : 0,
    isPersistent: isPersistent && framing !== 'close',
  }
}

/** The name and the value of a line, or undefined if it is malformed. */
export function parseField(line: string): readonly [string, string] | undefined {
  const match = headerLine.exec(line)
  return match ? [match[1]!, trimmed(match[2]!)] : undefined
}

/** @throws BrokenResponse */
function framingOf(
  status: number,
  encoding: string | undefined,
  length: string | undefined,
  hasNoBody: boolean,
): Framing {
  const isInterim = status < 200
  if (!isInterim && encoding !== undefined && (encoding !== 'chunked' || length !== undefined))
    throw new BrokenResponse('it has a Transfer-Encoding that is not "chunked" alone')
  if (isInterim || hasNoBody || status === 204 || status === 304) return 'none'
  if (encoding !== undefined) return 'chunked'
  return length === undefined ? 'close' : 'length'
}

/** Without the spaces and tabs around it (RFC 9110 § 5.5). */
function trimmed(value: string): string {
  let start = 0
  let end = value.length
  // Outside of the text, the code of a character is NaN.
  while (isBlank(value.charCodeAt(start))) start++
  while (isBlank(value.charCodeAt(end - 1))) end--
  return value.slice(start, end)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09
