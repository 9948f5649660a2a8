import { createLineSplitter, type LineRules } from './line-splitter.ts'

/**
 * Reads what a program writes, as UTF-8: each line, and at the end what came after the last newline, also when the reading fails. An
 * incomplete character at the end is U+FFFD.
 *
 * @param onLine gets each line without its end
 * @param read reads the stream to its end, and gives its bytes to `take`
 * @throws what `read` throws, after the last line
 */
export async function readLines(
  rules: LineRules,
  onLine: (line: string) => void,
  read: (take: (bytes: Uint8Array) => void) => Promise<void>,
): Promise<void> {
  const split = createLineSplitter(rules)
  const decoder = createDecoder()
  const give = (lines: readonly string[]) => {
    for (const line of lines) onLine(line)
  }
  try {
    await read((bytes) => give(split(decoder.decode(bytes, { stream: true }))))
  } finally {
    give(split(decoder.decode()))
    give(split.end())
  }
}

/**
 * The lines of a stream, as UTF-8, and at its end what came after the last newline.
 *
 * @throws LineTooLong, and what the stream fails with: what came after the last newline is then a part of a line, and left out
 */
export async function* linesOf(
  stream: AsyncIterable<Uint8Array>,
  rules: LineRules,
): AsyncGenerator<string, void> {
  const split = createLineSplitter(rules)
  const decoder = createDecoder()
  for await (const bytes of stream) yield* split(decoder.decode(bytes, { stream: true }))
  yield* split(decoder.decode())
  yield* split.end()
}

const createDecoder = () => new TextDecoder('utf-8', { ignoreBOM: true })
