/** Packages of the registry run in functions as they are: one call of each, and the table of `docs/field.md`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packFolder } from '../../../apps/cli/src/archive/pack.ts'
import { needs } from '../../harness/installed.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { nodePackages, packageRows, plainPackages } from './npm-table.ts'

const folder = join(root, 'tests/system/services/npm-packages/functions')

describe('one call of each package in a function', needs('npm packages'), () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.stop())

  describe.each([
    ['many', plainPackages],
    ['many-node', nodePackages],
  ])('of %s gives what it gives in Node.js', (name, calls) => {
    let base: string
    beforeAll(async () => {
      const { archive } = await packFolder(join(folder, name), { name })
      const { id: image } = await services.deployImage(archive)
      const env = { 'MCM.ACCESS': 'public', 'MCM.MEMORY_MB': '512' }
      const spec = { name, image, env }
      const { basePath } = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
      base = basePath
    })

    it.each(calls)('$name', async ({ name: called, gives }) => {
      const { text } = await services.call(`${base}/${encodeURIComponent(called)}`)
      expect(text).toBe(JSON.stringify(gives))
    })
  })
})

it('docs/field.md has every package with its version and its call', () => {
  const document = readFileSync(join(root, 'docs/field.md'), 'utf8')
  const cells = (line: string) =>
    line
      .split('|')
      .map((each) => each.trim())
      .join('|')
  const rows = document.split('\n').map(cells)
  expect(
    packageRows()
      .map(cells)
      .filter((each) => !rows.includes(each)),
  ).toEqual([])
  const withCall = /^\|\S+\|\d+\.\d+\.\d+\|[^|]+\|$/
  expect(rows.filter((each) => withCall.test(each))).toHaveLength(packageRows().length)
  const [, all, run, refused] = /Of the (\d+) packages of this page, (\d+) run and (\d+) /
    .exec(document)!
    .map(Number)
  const [, absent = ''] = document.split('### Packages that do not run')
  const names = [...absent.split('\n\nPackages')[0]!.matchAll(/^\| ([^|]+?) +\| (?!Why)/gm)].flatMap(
    ([, cell = '']) => (cell.startsWith('-') ? [] : cell.split(', ')),
  )
  expect([all, run, refused]).toEqual([
    packageRows().length + names.length,
    packageRows().length,
    names.length,
  ])
})
