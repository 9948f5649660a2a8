/**
 * Foreign text on a terminal or in a log. Names, logs, errors and addresses come from other machines: a control sequence in them
 * could set the clipboard, the title or the colours of a terminal, or hide what follows. A line break could invent a row of a
 * table.
 */

/** Whole control sequences (ECMA-48 § 5.4, § 5.6): CSI, then strings such as OSC with their end, then other escapes. */
const sequences =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\p{Cc}]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]/gu

/** Control characters but tab and line feed, bidirectional controls, and characters that show nothing. */
const controls =
  /(?![\t\n])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** Text without control sequences and control characters; tabs and line feeds stay. */
export const withoutControls = (text: string): string =>
  text.replaceAll(sequences, '').replaceAll(controls, '')

/** The same on one line. Tabs stay. */
export const onOneLine = (text: string): string =>
  withoutControls(text.replaceAll(/\r?\n|[\r\u2028\u2029]/g, ' '))

const isPlain = /^[ -~\t\n]*$/

/** JSON text in which the same characters are escaped: its value is unchanged, and a terminal shows it as it is. */
export const escapeControls = (json: string): string =>
  isPlain.test(json)
    ? json
    : json.replaceAll(controls, (found) =>
        Array.from(
          { length: found.length },
          (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`,
        ).join(''),
      )
