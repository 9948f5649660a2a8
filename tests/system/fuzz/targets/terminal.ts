import { onOneLine, withoutControls } from '@selvedge/protocol/redaction'
import { cleanResult, indented } from '../../../../apps/cli/src/output/clean.ts'
import { expectThat, type Target } from '../engine/target.ts'

const escapes = '\x1b]52;c;eA==\x07 \x1b[31mred\x1b[0m \x9b2J \x1b]0;title\x1b\\ \u202e text\r\n'

/** Foreign text on a terminal: no control character is left of it. */
export const terminal: Target = {
  name: 'terminal',
  covers: ['apps/cli/src/output/clean.ts'],
  seeds: () => ['plain text', escapes, escapes.repeat(150), '\ttab\nline\n'].map((each) => Buffer.from(each)),
  words: ['\x1b[', '\x1b]', '\x07', '\x1b\\', '\x9b', '\x90', '\xc2\x9b', '\xe2\x80\xae', '0;', '\x1b', ' '],
  open: () => ({
    parse(input) {
      const text = input.toString()
      const shown = withoutControls(text)
      expectThat(!/(?![\t\n])\p{Cc}/u.test(shown), 'a control character is left')
      expectThat(withoutControls(shown) === shown, 'what was removed made another sequence')
      expectThat(!/[\r\n]/.test(onOneLine(text)), 'a line break is left')
      indented(text)
      cleanResult({ [text]: [text] })
      return shown.length === text.length ? 'as it was' : 'cleaned'
    },
  }),
}
