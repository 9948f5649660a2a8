import { duktape } from '../../../../apps/runtime/src/services/engines/function/platform/duktape.ts'
import { parseJx } from '../../../../apps/runtime/src/services/engines/function/platform/jx-parse.ts'
import { expectThat, outcomeOf, type Target } from '../engine/target.ts'

/** What `Duktape.enc` has written, of the same kind as what services read from each other. */
export const jx: Target = {
  name: 'jx',
  covers: [
    'apps/runtime/src/services/engines/function/platform/jx-parse.ts',
    'apps/runtime/src/services/engines/function/platform/jx-write.ts',
  ],
  seeds: () =>
    [
      '{a:1,"b c":[null,true,undefined,NaN,-Infinity,-0,1.5e-7],d:|00ff|,e:"\\xfc\\u20ac\\U0001f600"}',
      `[${'{__proto__:{a:[1,2,3]}},'.repeat(300)}0]`,
      `${'['.repeat(500)}${']'.repeat(500)}`,
      `"${'text '.repeat(2000)}"`,
    ].map((each) => Buffer.from(each)),
  words: ['{', '}', '[', ']', ',', ':', '"', '\\x', '\\U', '|', 'undefined', '-Infinity', '__proto__', '-0'],
  open: () => ({
    parse: (input) =>
      outcomeOf(() => {
        const value = parseJx(input.toString())
        const text = duktape.enc('jx', value)
        const again = duktape.enc('jx', parseJx(text))
        expectThat(again === text, 'what was written means something else when it is read')
        expectThat(Object.getPrototypeOf({}) === Object.prototype, 'a prototype was changed')
        return typeof value
      }, [SyntaxError, RangeError]),
  }),
}
