import {
  FormError,
  formLimits,
  handleForm,
} from '../../../../apps/runtime/src/services/engines/function/platform/form.ts'
import { expectThat, outcomeOf, type Target } from '../engine/target.ts'

const boundary = 'boundary0123456789'
const part = (head: string, body: string) =>
  `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`
const multipart = (...parts: string[]) =>
  Buffer.from(`multipart/form-data; boundary=${boundary}\n${parts.join('')}--${boundary}--\r\n`)
const encoded = (body: string) => Buffer.from(`application/x-www-form-urlencoded\n${body}`)

/** Forms of callers, as handlers read them: a content type, and after a line break the body. */
export const handlerForm: Target = {
  name: 'handler-form',
  covers: ['apps/runtime/src/services/engines/function/platform/form.ts'],
  seeds: () => [
    multipart(part('name="a"', 'text'), part('name="b"; filename="b.txt"', 'x'.repeat(20_000))),
    multipart(...Array.from({ length: 200 }, (_, at) => part(`name="f${at}"`, 'value'))),
    multipart(part(`name="${'n'.repeat(1000)}"`, '')),
    encoded('a=1&b=%C3%BC&c=a+b'),
    encoded(Array.from({ length: 900 }, (_, at) => `f${at}=${at}%20`).join('&')),
  ],
  words: [
    `--${boundary}`,
    `\r\n--${boundary}--`,
    '\r\n\r\n',
    'Content-Disposition: form-data; name="',
    '; filename="',
    ';a="',
    '; name=',
    'boundary="',
    '&',
    '=',
    '%00',
  ],
  maxBytes: 256 * 1024,
  open: () => ({
    parse(input) {
      const end = Math.max(0, input.indexOf(0x0a))
      const body = input.subarray(end + 1)
      let fields = 0
      let bytes = 0
      const outcome = outcomeOf(() => {
        const files = {
          read: () => null,
          write: (_name: string, base64: string) => {
            bytes += (base64.length * 3) / 4
          },
          remove: () => false,
        }
        handleForm(input.toString('latin1', 0, end), body, files, {
          found: (name, filename) => {
            fields++
            expectThat(name.length <= formLimits.nameCharacters, 'a name is too long')
            return { action: filename === undefined ? 'get' : 'store' }
          },
        })
        return `${Math.min(4, fields)} fields`
      }, [FormError])
      expectThat(fields <= formLimits.fields, `${fields} fields`)
      expectThat(bytes <= body.length + 3 * fields, 'more was stored than the body has')
      return { outcome, calls: fields }
    },
  }),
}
