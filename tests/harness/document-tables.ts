/** Tables in documents that campaigns write: between two marks, row by row. */
interface Table {
  readonly name: string
  /** What writes it. */
  readonly command: string
  /** By the first cell; else new rows come last. */
  readonly isSorted: boolean
}

/**
 * Puts rows in place of those with the same first cell, in the table between two marks of a document.
 *
 * @returns the text of the document with these rows
 * @throws Error without the marks
 */
export function writeRows(
  text: string,
  { name, command, isSorted }: Table,
  rows: readonly string[][],
): string {
  const [begin, end] = [`<!-- ${name}: written by "${command}" -->\n`, `<!-- end of ${name} -->`]
  const [before, rest = ''] = text.split(begin)
  const [found, after] = rest.split(end)
  if (found === undefined || after === undefined) throw new Error(`the document has no marks of ${name}`)
  const [head = '', line = '', ...old] = found.trim().split('\n').map(cellsIn)
  const given = new Map(rows.map((row) => [escapeCell(row[0]!), row.map(escapeCell)]))
  const known = new Set(old.map(([first]) => first))
  const all = [
    ...old.map((row) => given.get(row[0]!) ?? row),
    ...[...given].filter(([first]) => !known.has(first)).map(([, row]) => row),
  ]
  if (isSorted) all.sort(([one = ''], [two = '']) => one.localeCompare(two))
  return `${before}${begin}\n${format([head, [...line].map(() => '-'), ...all] as string[][])}\n\n${end}${after}`
}

const escapeCell = (cell: string): string => cell.replaceAll('|', '\\|').trim()
const cellsIn = (line: string): string[] =>
  line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())

function format(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  return rows
    .map(
      (row, line) =>
        `| ${row.map((cell, at) => (line === 1 ? '-'.repeat(widths[at]!) : cell.padEnd(widths[at]!))).join(' | ')} |`,
    )
    .join('\n')
}
