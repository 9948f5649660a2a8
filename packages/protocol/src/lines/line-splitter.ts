/** How a stream is split into lines. */
export interface LineRules {
  /** Characters of a line (UTF-16 code units), without its end. */
  readonly maxLine: number
  /** What happens to a longer line: it becomes several lines, is dropped up to its end, or makes the splitter throw. */
  readonly longer: 'split' | 'drop' | 'refuse'
  /** `lf`: a line ends with \n or \r\n. `any`: also with a lone \r, as receivers and progress displays write it. */
  readonly ends: 'lf' | 'any'
  /**
   * Removes what comes before the beginning of a message, from a line or a part of one. With it, the rest of a line that is dropped
   * may hold a message.
   */
  readonly trim?: (line: string) => string
}

/** A line of more characters than `maxLine`, where the rules refuse it. */
export class LineTooLong extends Error {
  override readonly name = 'LineTooLong'
}

/** Gives the lines that a part of the text completes. */
export interface LineSplitter {
  /** @throws LineTooLong */
  (part: string): string[]
  /** To be called after the last part: gives what came after the last newline, unless it is empty. */
  end(): string[]
}

/**
 * Splits a text that arrives in parts, however they fall. It stores at most `maxLine` characters and one part, and searches each
 * part once. {@link readLines} and `linesOf` call `end` by themselves; other callers call it when their source ends.
 */
export function createLineSplitter(rules: LineRules): LineSplitter {
  const { maxLine, longer, ends } = rules
  const trim = rules.trim ?? ((line: string) => line)
  let rest = ''
  /** The text so far ends with a \r that was the end of a line: a \n after it belongs to it. */
  let isAfterReturn = false
  let isDropping = false

  /** The lines without their ends, and the rest after them as the last one. */
  function cut(part: string): string[] {
    const text = isAfterReturn && part.startsWith('\n') ? part.slice(1) : part
    if (part !== '') isAfterReturn = ends === 'any' && part.endsWith('\r')
    // A long line arrives in many parts: it is searched once, when it is whole.
    if (!(ends === 'any' ? /[\r\n]/ : /\n/).test(text)) return [rest + text]
    const cuts = (rest + text).split(ends === 'any' ? /\r\n|\n|\r/ : '\n')
    return ends === 'any'
      ? cuts
      : cuts.map((line, at) => (at === cuts.length - 1 ? line : withoutReturn(line)))
  }

  function fitting(line: string): string[] {
    if (line.length <= maxLine) return [line]
    if (longer === 'refuse') throw new LineTooLong(`a line of more than ${maxLine} characters`)
    return longer === 'drop' ? [] : pieces(line, maxLine)
  }

  function take(part: string): string[] {
    const found = cut(part)
    rest = trim(found.pop()!)
    if (isDropping && found.length > 0) {
      found.shift()
      isDropping = false
    }
    const lines = found.flatMap((line) => fitting(trim(line)))
    // One character more: it may be the \r of the end.
    if (rest.length > maxLine + 1 || (rest.length > maxLine && !rest.endsWith('\r'))) {
      const begun = fitting(rest)
      if (longer === 'drop') isDropping = rules.trim === undefined
      rest = begun.pop() ?? ''
      lines.push(...begun)
    }
    return lines
  }

  function end(): string[] {
    const last = trim(withoutReturn(rest))
    const isDropped = last === '' || isDropping
    rest = ''
    isDropping = false
    return isDropped ? [] : fitting(last)
  }
  const splitter: LineSplitter = Object.assign((part: string) => take(part), { end })
  return splitter
}

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)

/** Parts of at most so many characters; no part ends within a surrogate pair. */
function pieces(line: string, maxLine: number): string[] {
  const found: string[] = []
  let from = 0
  while (line.length - from > maxLine) {
    const end = from + maxLine
    const isWithinPair = maxLine > 1 && /[\ud800-\udbff]/.test(line[end - 1]!)
    const to = isWithinPair ? end - 1 : end
    found.push(line.slice(from, to))
    from = to
  }
  return [...found, line.slice(from)]
}
