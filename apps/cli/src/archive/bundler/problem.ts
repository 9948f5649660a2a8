/** A build error with its place in the author's files, and the lines around it. */

export interface Problem {
  readonly text: string
  /** Path from the folder of the function. */
  readonly file?: string
  /** From 1. */
  readonly line?: number
  /** From 1. */
  readonly column?: number
  /** Source lines with their numbers, and a mark below the column. */
  readonly frame?: string
}

/** Characters of a source line that a frame shows. */
const maxLineChars = 160

/** Two lines before a place, its own, a mark, and the line after it. @param line from 1 @param column from 1 */
export function codeFrame(source: string, line: number, column: number): string {
  const lines = source.split(/\r?\n/, line + 1)
  if (line > lines.length) return ''
  const from = Math.max(1, line - 2)
  const width = String(Math.min(lines.length, line + 1)).length
  return lines
    .slice(from - 1, line + 1)
    .flatMap((text, at) => {
      const number = from + at
      const shown = `${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${text.slice(0, maxLineChars)}`
      const isVisible = number === line && column <= maxLineChars
      return isVisible
        ? [shown, `  ${' '.repeat(width)} | ${text.slice(0, column - 1).replaceAll(/\S/g, ' ')}^`]
        : [shown]
    })
    .join('\n')
}

/** The place of the first quoted text in a source, such as that of an import. */
export function placeOf(source: string, text: string): { line: number; column: number } | undefined {
  const found = ['"', "'", '`']
    .map((quote) => source.indexOf(quote + text + quote))
    .filter((at) => at >= 0)
    .sort((a, b) => a - b)[0]
  if (found === undefined) return undefined
  const before = source.slice(0, found)
  return { line: before.split('\n').length, column: found - before.lastIndexOf('\n') }
}
