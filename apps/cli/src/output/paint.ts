/** Colours, for people at a terminal. */
const codes = { red: 31, green: 32, yellow: 33, dim: 2 } as const
export type Colour = keyof typeof codes

/** A text without control sequences, in a colour where the stream is a terminal that shows colours (also NO_COLOR, TERM=dumb). */
export function paint(
  stream: Pick<NodeJS.WriteStream, 'isTTY' | 'hasColors'>,
  text: string,
  colour?: Colour,
): string {
  if (colour === undefined || text === '' || stream.isTTY !== true || !stream.hasColors()) return text
  // Each line has its own colour: a line that is cut or filtered leaves the next ones as they are.
  return text.replaceAll(/[^\n]+/g, (line) => `\u001b[${codes[colour]}m${line}\u001b[0m`)
}
