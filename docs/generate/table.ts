/** Tables of the reference, in Markdown. */

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
/** Characters of the longest cell that is still easy to read. */
const maxCell = 120

/** A list with the first cell of each row as its name: for rows that are too long for a table. */
const list = ([, ...labels]: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows
    .map(([name, ...cells]) => {
      const items = cells.map((text, index) => (text === '' ? '' : `\n  - ${labels[index]}: ${text}`))
      return `- ${name}${items.join('')}`
    })
    .join('\n')

/** A table, or a list if a cell is too long. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.some((row) => row.some((text) => text.length > maxCell))
    ? list(head, rows)
    : [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')
