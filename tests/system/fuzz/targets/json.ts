import { isDeepStrictEqual } from 'node:util'
import { JsonError, parseJson } from '@selvedge/protocol/jsonrpc'
import { mutateJson } from '../engine/mutate-json.ts'
import { expectThat, outcomeOf, type Target } from '../engine/target.ts'

const large = JSON.stringify(
  Array.from({ length: 200 }, (_, at) => ({
    id: at,
    name: `node ${at} \u00fc "quoted" \\`,
    at: [1.5e3, -0, null],
  })),
)

/** Strict JSON: what it accepts is what JSON.parse understands. */
export const json: Target = {
  name: 'json',
  covers: ['packages/protocol/src/jsonrpc/json.ts'],
  seeds: () =>
    [large, '{"a":{"b":[1,2,{"c":"\\u00e9\\n"}]},"d":true}', '[]', '"text"', '-1.25e-7'].map((each) =>
      Buffer.from(each),
    ),
  mutators: [mutateJson],
  words: ['"__proto__":', '\\u0000', '\\"', '[[[[', '{"a":', 'null', '1e999', '\u2028'],
  open: () => ({
    parse: (input) => {
      const text = input.toString()
      return outcomeOf(() => {
        const value = parseJson(text)
        expectThat(isDeepStrictEqual(value, JSON.parse(text)), 'JSON.parse understands it differently')
        // Written again it has as many members: none stood twice.
        // The texts are compared: JSON has no way to write -0.
        const written = JSON.stringify(value)
        expectThat(JSON.stringify(parseJson(written)) === written, 'it changes when it is written again')
      }, [JsonError])
    },
  }),
}
