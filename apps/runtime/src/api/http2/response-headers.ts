/** The head of a response of HTTP/1.1 as one of HTTP/2 (RFC 9113 § 8.2.2, § 8.3.2). */
import type { OutgoingHttpHeaders } from 'node:http2'

/** Of one connection of HTTP/1.1. */
const ofConnection = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'trailer',
  'te',
])

/** @param raw names and values in turn */
export function fieldsOf(raw: readonly string[]): OutgoingHttpHeaders {
  const fields: OutgoingHttpHeaders = Object.create(null)
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase()
    if (ofConnection.has(name)) continue
    const before = fields[name]
    const value = raw[at + 1]!
    if (before === undefined) fields[name] = value
    else if (Array.isArray(before)) before.push(value)
    else fields[name] = [String(before), value]
  }
  return fields
}
