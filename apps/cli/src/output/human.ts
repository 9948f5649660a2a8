/** Results for people: members one a line, aligned; lists as tables. A cell is always on one line. */
import { onOneLine } from '@selvedge/protocol/redaction'

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cell).join(', ')
  if (isObject(value))
    return Object.entries(value)
      .map(([name, inner]) => `${name} ${cell(inner)}`)
      .join(', ')
  return onOneLine(String(value)).replaceAll('\t', ' ')
}

export function formatHuman(value: unknown): string {
  if (Array.isArray(value)) return formatTable(value)
  if (!isObject(value)) return cell(value)
  const width = Math.max(...Object.keys(value).map((name) => name.length))
  return Object.entries(value)
    .map(([name, inner]) => `${name.padEnd(width)}  ${cell(inner)}`)
    .join('\n')
}

function formatTable(rows: readonly unknown[]): string {
  if (rows.length === 0) return 'none'
  const objects = rows.filter(isObject)
  const names = Object.keys(objects[0] ?? {})
  const lines = [names, ...objects.map((row) => names.map((name) => cell(row[name])))]
  const widths = names.map((_, at) => Math.max(...lines.map((line) => line[at]!.length)))
  return lines
    .map((line) =>
      line
        .map((text, at) => text.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
