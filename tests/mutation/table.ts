/** The table of scores in docs/tests.md. */
import { percentOf, type Score } from './score.ts'

const head = ['File', 'Mutants', 'Killed', 'Equivalent', 'Survivors', 'Score']

const cellsOf = (score: Score): string[] => [
  `\`${score.file}\``,
  ...[score.mutants, score.killed, score.equivalent, score.survivors.length].map(String),
  `${percentOf(score)} %`,
]

/** Replaces or adds the rows of some files in the table of a document, and leaves out those of files that are not covered. */
export function updateTable(
  document: string,
  scores: readonly Score[],
  covered: ReadonlySet<string>,
): string {
  const lines = document.split('\n')
  const start = lines.findIndex((line) => line.startsWith(`| ${head[0]} `))
  if (start < 0) throw new Error(`the document has no table with "${head[0]}" as its first column`)
  let end = start
  while (lines[end]?.startsWith('|')) end++
  const rows = new Map<string, string[]>()
  for (const line of lines.slice(start + 2, end)) {
    const cells = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim())
    rows.set(cells[0]!, cells)
  }
  for (const score of scores) rows.set(`\`${score.file}\``, cellsOf(score))
  const kept = [...rows.values()].filter(([file]) => covered.has(file!.replaceAll('`', '')))
  const table = formatTable(kept.sort(([one], [other]) => (one! < other! ? -1 : 1)))
  return [...lines.slice(0, start), ...table, ...lines.slice(end)].join('\n')
}

export function formatTable(rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]!.length)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join(' | ')} |`
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [line(head), `| ${rule.join(' | ')} |`, ...rows.map(line)]
}

export const tableOf = (scores: readonly Score[]): string => formatTable(scores.map(cellsOf)).join('\n')
