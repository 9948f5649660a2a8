/** Devices as CSV (RFC 4180). Names, tags, versions and services are text of others: no program may read a formula in it. */
import type { Device } from '@selvedge/protocol/console'
import { onOneLine } from '@selvedge/protocol/redaction'

type Cell = string | number | null

const columns: readonly (readonly [title: string, cell: (device: Device) => Cell])[] = [
  ['Node ID', ({ nodeId }) => nodeId],
  ['Name', ({ label, name }) => label || name],
  ['Calls itself', ({ name }) => name],
  ['Status', ({ state }) => state],
  ['Tags', ({ tags }) => tags.join(' ')],
  ['Version', ({ version }) => version],
  ['Services', ({ services }) => services.map(({ name, state }) => `${name} (${state})`).join('; ')],
  ['Added', ({ enrolledAt }) => enrolledAt],
  ['Last seen', ({ lastSeenAt }) => lastSeenAt],
  ['Blocked', ({ blockedAt }) => blockedAt],
  ['Latitude', ({ fix }) => fix?.latitude ?? null],
  ['Longitude', ({ fix }) => fix?.longitude ?? null],
  ['Location of', ({ fix }) => fix?.fixedAt ?? null],
]

/** What a spreadsheet reads as the beginning of a formula, also in its full-width form (OWASP, CSV Injection). */
const formula = /^\s*[=+\-@\t\r\n＝＋－＠]/

/** A text is quoted, on one line and without control characters; an apostrophe precedes what would be a formula. */
export function toCell(value: Cell): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = onOneLine(value).replaceAll('\t', ' ')
  return `"${formula.test(value) || formula.test(text) ? "'" : ''}${text.replaceAll('"', '""')}"`
}

const toLine = (cells: readonly Cell[]): string => `${cells.map(toCell).join(',')}\r\n`

export const csvHead = toLine(columns.map(([title]) => title))

export const toCsv = (devices: readonly Device[]): string =>
  devices.map((device) => toLine(columns.map(([, cell]) => cell(device)))).join('')
