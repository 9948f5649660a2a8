/** docs/conformance.md explains every module of the plans: with a test that exists, or with the reason why there is no such test. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../harness/processes.ts'
import { missing } from './titles.ts'

const text = readFileSync(join(root, 'docs/conformance.md'), 'utf8')

/** Each module, and the items below it. */
const modules = text
  .split(/^- `/m)
  .slice(1)
  .map((entry) => {
    const [name = '', ...items] = entry.split('\n#')[0]!.split(/^ {2}- /m)
    return { name: name.replace(/`\s*$/, ''), items: items.map((each) => each.replace(/\s+/g, ' ').trim()) }
  })

it('names a test that exists, or a reason, for every module of the plans', () => {
  expect(modules.length).toBeGreaterThan(100)
  const problems = modules.flatMap(({ name, items }) =>
    items.length === 0
      ? [`${name} is not explained`]
      : items.flatMap((item) => {
          if (item.startsWith('Test: ')) return missing(item)
          return /^(?:Does not apply|Differs): .{20,}/.test(item) ? [] : [`${name}: ${item}`]
        }),
  )
  expect(problems).toEqual([])
})
