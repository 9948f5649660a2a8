/** The long forms of the campaigns: `npm run fuzz` and others, of which the tests run a small part. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../harness/processes.ts'

it('each script runs a program that exists', () => {
  const named = readdirSync(join(root, 'scripts'))
    .filter((each) => each.endsWith('.mjs'))
    .flatMap((each) => [
      ...readFileSync(join(root, 'scripts', each), 'utf8').matchAll(/\$\{root\}\/([\w./-]+\.ts)\b/g),
    ])
    .map(([, path]) => path!)
  expect(named.length).toBeGreaterThan(7)
  expect(named.filter((each) => !existsSync(join(root, each)))).toEqual([])
})
