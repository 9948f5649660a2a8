/**
 * Public Compose files in our own words: what people find in the documentation of these programs. `expected.txt` beside each has what the command
 * prints, and the plan of the app. `npm test -- tests/compose -u` writes it again.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { appPlan } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { runHere } from '../harness/cli-here.ts'
import { root } from '../harness/processes.ts'

const folder = join(root, 'tests/compose/apps')
const names = readdirSync(folder)

it('there are nineteen', () => {
  expect(names.length).toBeGreaterThanOrEqual(19)
})

it.each(names)('%s', async (name) => {
  const printed = await runHere(join(folder, name), ['compose', 'check'])
  const asJson = await runHere(join(folder, name), ['compose', 'check', '--json'])
  const { plan } = JSON.parse(asJson.out) as { plan: unknown }
  expect(printed).toMatchObject({ errors: '', code: plan === null ? 1 : 0 })
  expect(asJson.code).toBe(printed.code)
  if (plan !== null) expect(appPlan.parse(plan)).toEqual(plan)
  const shown = plan === null ? '' : `\n\nPlan:\n${stringify(plan, { lineWidth: 0 })}`
  await expect(`${printed.out.trimEnd()}${shown}`.trimEnd().concat('\n')).toMatchFileSnapshot(
    join(folder, name, 'expected.txt'),
  )
})
