/** The table of aimed changes in docs/tests.md: how many of each area the named tests noticed. */

interface Result {
  readonly area: string
  readonly isNoticed: boolean
}

const head = ['Area', 'Changes', 'Noticed']

export function tableOf(results: readonly Result[]): string {
  const names = [...new Set(results.map(({ area }) => area))].sort()
  const rowOf = (name: string, of: readonly Result[]): string[] => [
    name,
    String(of.length),
    String(of.filter(({ isNoticed }) => isNoticed).length),
  ]
  const rows = names.map((name) =>
    rowOf(
      name,
      results.filter(({ area }) => area === name),
    ),
  )
  rows.push(rowOf('all', results))
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]!.length)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join(' | ')} |`
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [line(head), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n')
}

/** Replaces the table of a document. @throws Error if the document has no such table */
export function updateTable(document: string, results: readonly Result[]): string {
  const table = /^\| Area .*(?:\n\|.*)*/m
  if (!table.test(document)) throw new Error('the document has no table with "Area" as its first column')
  return document.replace(table, () => tableOf(results))
}
