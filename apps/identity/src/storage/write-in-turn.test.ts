/** That limits are exact is shown in `registry/limits-suite.test.ts`; here, that no limit is written in another way. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const source = join(import.meta.dirname, '..')
const textOf = (file: string) => readFileSync(join(source, file), 'utf8')
const sources = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (each) => each.endsWith('.ts') && !each.endsWith('.test.ts'),
)

it('every statement that compares a count of rows with a limit is written in turn', () => {
  const limited = sources.filter((each) => /SELECT COUNT\(\*\)[^`]*?\)\s*<\s*\$\{/.test(textOf(each)))
  expect(limited.length).toBeGreaterThan(5)
  const inTurn = limited.filter((each) => textOf(each).includes('writeInTurn('))
  // A node that joins an account, and a rule for an issuer, are written with `changes.commit`, which locks the counter of changes. A share,
  // a join key and a device that waits lock the same row.
  const committed = [
    'registry/join/join-keys.ts',
    'registry/join/join-uses.ts',
    'registry/nodes/node-rows.ts',
    'registry/projects/issuers.ts',
    'registry/shares/shares.ts',
  ]
  expect(limited.filter((each) => !inTurn.includes(each))).toEqual(committed)
  expect(textOf('registry/projects/issuers.ts')).toMatch(/changes\.commit\(\s*\[insertRule/)
  expect(textOf('registry/shares/shares.ts')).toMatch(/transaction\(\[\s*takeTurn,\s*insertShare/)
  expect(textOf('registry/join/join-keys.ts')).toMatch(/transaction\(\[\s*takeTurn,\s*insertKey/)
  expect(textOf('registry/join/join-uses.ts')).toMatch(/transaction\(\[\s*takeTurn,\s*insertUse/)
  expect(textOf('registry/nodes/nodes.ts')).toMatch(/changes\.commit\(\[\.\.\.first, statement,/)
})

it('no count is compared with a limit before the statement that writes', () => {
  const compared = sources.filter((each) =>
    /Number\((?:row|count)!?\.total\) (?:<|>=) max/.test(textOf(each)),
  )
  // After a refusal, to explain it.
  expect(compared).toEqual(['registry/people/links.ts'])
})
