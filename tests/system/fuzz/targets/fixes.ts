import { isDeepStrictEqual } from 'node:util'
import { fixReport, readFixes } from '@selvedge/protocol'
import { mutateJson } from '../engine/mutate-json.ts'
import { expectThat, type Target } from '../engine/target.ts'

const fix = {
  longitude: 11.5,
  latitude: 48.1,
  speed: 3,
  bearing: 359.9,
  fixedAt: 1_767_225_600_000,
  accuracy: 5,
  source: 'gpsd',
}

/** Reports of places: the reader by hand and the schema accept the same. */
export const fixes: Target = {
  name: 'fixes',
  covers: ['packages/protocol/src/http/read-fixes.ts'],
  seeds: () =>
    [fix, [fix], Array(50).fill(fix), { ...fix, accuracy: undefined }].map((each) =>
      Buffer.from(JSON.stringify(each)),
    ),
  mutators: [mutateJson],
  words: ['"source":"api"', '"fixedAt":8640000000000001', '"bearing":360', '-0', '1e309'],
  maxBytes: 16 * 1024,
  open: () => ({
    parse(input) {
      let value: unknown
      try {
        value = JSON.parse(input.toString())
      } catch {
        return 'no JSON'
      }
      const read = readFixes(value)
      const schema = fixReport.safeParse(value)
      expectThat((read !== undefined) === schema.success, 'schema and reader disagree')
      if (read === undefined) return 'refused'
      expectThat(isDeepStrictEqual(read, [schema.data].flat()), 'schema and reader understand it differently')
      for (const { fixedAt } of read) new Date(fixedAt).toISOString()
      return 'accepted'
    },
  }),
}
