/** Splits a stream of text into lines. @param maxLine characters after which a line is given as one, whole or not */
export function createLineReader(
  onLine: (line: string) => void,
  maxLine = Number.POSITIVE_INFINITY,
): (text: string) => void {
  let rest = ''
  return (text) => {
    // A long line arrives in many parts: it is searched once, when it is whole.
    if (!text.includes('\n')) rest += text
    else {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) onLine(line)
    }
    if (rest.length > maxLine) {
      onLine(rest)
      rest = ''
    }
  }
}
