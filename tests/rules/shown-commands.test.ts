/** Each command that people are shown exists, with the options that it is shown with: the parser of the command line accepts it. */
import { describe, expect, it } from 'vitest'
import { commands, groups } from '../../apps/cli/src/commands/index.ts'
import { everyday, sections } from '../../apps/cli/src/help/overview.ts'
import { platforms } from '../../apps/console/src/views/projects/connect/commands.ts'
import { problemOf, type Shown, shownIn } from '../harness/shown-commands.ts'

async function problemsOf(shown: readonly Shown[]): Promise<string[]> {
  const found = []
  for (const each of shown) {
    const problem = await problemOf(each)
    if (problem !== undefined) found.push(`${each.where}: ${each.text}\n    ${problem}`)
  }
  return found
}

describe('each command that is shown is accepted by the command line', () => {
  it('in the documents', async () => {
    const shown = shownIn.documents()
    expect(shown.length).toBeGreaterThan(200)
    expect(await problemsOf(shown)).toEqual([])
  })

  it('in hints, messages and pages', async () => {
    const shown = shownIn.sources()
    expect(shown.length).toBeGreaterThan(100)
    expect(await problemsOf(shown)).toEqual([])
  })

  it('in the examples of the help', async () => {
    const shown = shownIn.help()
    expect(shown.length).toBeGreaterThan(20)
    expect(await problemsOf(shown)).toEqual([])
  })

  it.each(platforms)('on the page that connects a device: %s', async (platform) => {
    const shown = shownIn.page(platform)
    expect(shown.length).toBeGreaterThanOrEqual(4)
    expect(await problemsOf(shown)).toEqual([])
  })
})

it.each([
  ['selvedge dploy hello', true],
  ['selvedge deploy hello --nme x', true],
  ['selvedge init hello', true],
  ['sudo selvedge-admin acount create', true],
  ['selvedge gps update --longitude 1', true],
  ['selvedge deploy hello', false],
  ['npx selvedge init worker hello', false],
])('the rule refuses %s: %s', async (text, isRefused) => {
  expect((await problemOf({ where: '', text, isWhole: true })) !== undefined).toBe(isRefused)
})

describe('the help', () => {
  const words = [...new Set(commands.map(({ path }) => path[0]!))]

  it('lists each first word once, and the everyday ten first', () => {
    const listed = sections.flatMap((each) => Object.keys(each.words))
    expect(new Set(listed).size).toBe(listed.length)
    expect(words.filter((word) => !listed.includes(word))).toEqual([])
    expect(Object.keys(sections[0]!.words)).toEqual(everyday)
    expect(everyday).toHaveLength(10)
    for (const { words: rows } of sections)
      for (const [word, text] of Object.entries(rows)) expect(text.length, word).toBeLessThanOrEqual(62)
  })

  it('describes each group', () => {
    const paths = commands.flatMap(({ path }) =>
      path.slice(0, -1).map((_, at) => path.slice(0, at + 1).join(' ')),
    )
    const own = new Set(commands.map(({ path }) => path.join(' ')))
    const groupsOfTable = [...new Set(paths)].filter((path) => !own.has(path))
    for (const path of groupsOfTable) expect(groups[path], path).toMatch(/^[A-Z].*\.$/)
  })

  it('has examples for each of the everyday ten', () => {
    for (const word of everyday) {
      const found = commands.find(({ path }) => path.join(' ') === word)
      expect(found?.examples?.length, word).toBeGreaterThan(0)
    }
  })
})
