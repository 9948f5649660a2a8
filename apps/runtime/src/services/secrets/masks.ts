/**
 * Hides the values of a service's secrets in what it writes. A program prints its settings, an error quotes a connection string: logs,
 * reasons and the history show `<secret>` in their place. A value of less than four characters is not hidden: it would be found everywhere.
 */
export const shownSecret = '<secret>'

/** Characters of a value, and of one line of a value of several, that are hidden. */
const shortest = { value: 4, line: 8 }

/** Values that stay hidden, the newest first: those of the revision before the present one may still be written. */
const maxValues = 64

/**
 * Texts that are searched in each line: the values, then the longest lines of each, then their other forms. It limits the time for a line;
 * all lines of a value are found as whole lines.
 */
const maxInside = 256
const maxLinesOfValue = 16

interface Needles {
  /** Found anywhere in a line, the longest first. */
  readonly inside: readonly string[]
  /** Found as whole lines. */
  readonly lines: ReadonlySet<string>
}

export interface Mask {
  /** Hides values from now on, and those before. */
  learn(values: readonly Buffer[]): void
  /** A text without the values. */
  hide(text: string): string
  /**
   * The next line of a stream without the values. A line that is longer than the log accepts comes in several, and so may a value
   * in it.
   */
  hideLine(stream: string, line: string): string
}

/** @param maxLine characters of the longest line of a log: a longer one is split */
export function createMask(maxLine: number): Mask {
  let values: readonly Buffer[] = []
  let needles: Needles = { inside: [], lines: new Set() }
  /** Streams with a line that continues. */
  const continued = new Map<string, boolean>()

  function hide(text: string): string {
    const { inside, lines } = needles
    if (lines.has(text.trim())) return shownSecret
    return inside.reduce(
      (rest, each) => (rest.includes(each) ? rest.replaceAll(each, shownSecret) : rest),
      text,
    )
  }

  return {
    learn(given) {
      const fresh = given.filter((each) => !values.some((known) => known.equals(each)))
      if (fresh.length === 0) return
      values = [...fresh, ...values].slice(0, maxValues)
      needles = needlesOf(values)
    },
    hide,
    hideLine(stream, line) {
      const { inside } = needles
      if (inside.length === 0) return line
      const isAfterCut = continued.get(stream) ?? false
      const isCut = line.length >= maxLine
      continued.set(stream, isCut)
      if (isCut && inside.some((each) => each.includes(line))) return shownSecret
      const whole = hide(line)
      const begun = isAfterCut ? withoutBeginning(whole, inside) : whole
      return isCut ? withoutEnd(begun, inside) : begun
    },
  }
}

/** A text without the end of a value that began in the text before. */
function withoutBeginning(text: string, inside: readonly string[]): string {
  const length = Math.max(0, ...inside.map((each) => overlap(each, text)))
  return length === 0 ? text : shownSecret + text.slice(length)
}

/** A text without the beginning of a value that continues in the text after it. */
function withoutEnd(text: string, inside: readonly string[]): string {
  const length = Math.max(0, ...inside.map((each) => overlap(text, each)))
  return length === 0 ? text : text.slice(0, text.length - length) + shownSecret
}

/**
 * Characters of the longest end of one text that is the beginning of the other, in linear time (the prefix function of Knuth, Morris and
 * Pratt).
 */
function overlap(one: string, other: string): number {
  const most = Math.min(one.length, other.length)
  const text = `${other.slice(0, most)}\0${one.slice(one.length - most)}`
  const borders = new Uint16Array(text.length)
  for (let at = 1; at < text.length; at++) {
    let length = borders[at - 1]!
    while (length > 0 && text[at] !== text[length]) length = borders[length - 1]!
    borders[at] = text[at] === text[length] ? length + 1 : length
  }
  return Math.min(borders.at(-1)!, most)
}

function needlesOf(values: readonly Buffer[]): Needles {
  const texts = values
    .map((value) => value.toString().trim())
    .filter(({ length }) => length >= shortest.value)
  const lines = texts.map((text) =>
    text
      .split(/\r?\n|\r/)
      .map((each) => each.trim())
      .filter(({ length }, _, all) => all.length === 1 || length >= shortest.line),
  )
  const longest = lines.flatMap((all) => all.toSorted(byLength).slice(0, maxLinesOfValue))
  const whole = texts.filter((text) => !/[\r\n]/.test(text))
  const inside = [...new Set([...whole, ...longest, ...values.flatMap(formsOf)])].slice(0, maxInside)
  return { inside: inside.toSorted(byLength), lines: new Set(lines.flat()) }
}

const byLength = (one: string, other: string): number => other.length - one.length

/** As programs write a value into JSON, URLs and headers. */
function formsOf(value: Buffer): string[] {
  const text = value.toString().trim()
  const encoded = [Buffer.from(text), value].flatMap((each) => [
    each.toString('base64').replaceAll('=', ''),
    each.toString('base64url'),
    each.toString('hex'),
  ])
  return [JSON.stringify(text).slice(1, -1), encodeURIComponent(text), ...encoded].filter(
    ({ length }) => length >= shortest.value,
  )
}
