/**
 * Plain English: no phrase of the list in `english/phrases.ts` occurs in documents, comments, test titles and texts, and words
 * that are often unclear do not become more. `english/words.json` has their number in each area; after a correction,
 * `SELVEDGE_LOWER_WORDS=1` with this test writes the lower numbers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { phrases } from './english/phrases.ts'
import { type Prose, readAllProse, readProse } from './english/prose.ts'

/** Words that are often unclear, each with what it usually stands for. */
const unclear = {
  nobody: 'no client, no person',
  told: 'sent, notified, reported',
  tells: 'sends, notifies, reports',
  says: 'reports, returns, states',
  kept: 'stored, retained',
  remembered: 'cached, stored',
  taken: 'accepted',
  takes: 'accepts, needs',
  took: 'accepted, needed',
  ended: 'expired, stopped, exited',
  stands: 'is',
  anew: 'again',
  asks: 'requests, needs',
  looks: 'checks, polls',
  goes: 'is removed, continues',
  whose: 'of which, or a sentence of its own',
  none: 'not, no …',
} as const
type Word = keyof typeof unclear
type Counts = Record<string, Partial<Record<Word, number>>>

const wordsFile = new URL('./english/words.json', import.meta.url)

/** `apps/cli`, `docs`, or the name of a file at the root. System tests are of the area of the others. */
const areaOf = (path: string): string => {
  const [first = '', second = ''] = path.replace('tests/system/', 'tests/').split('/')
  return ['apps', 'packages', 'tests', 'examples'].includes(first) ? `${first}/${second}` : first
}

const neverIn = ({ path, sentences }: Prose): string[] =>
  sentences.flatMap(({ line, text }) =>
    phrases.flatMap(({ never, instead }) => {
      const found = never.exec(text)?.[0]
      return found ? [`${path}:${line} "${found}": write ${instead}`] : []
    }),
  )

function countWords(prose: readonly Prose[]): Counts {
  const counts: Counts = {}
  for (const { path, sentences } of prose)
    for (const { text } of sentences)
      for (const word of text.toLowerCase().match(/[a-z]+/g) ?? [])
        if (Object.hasOwn(unclear, word)) {
          const area = (counts[areaOf(path)] ??= {})
          area[word as Word] = (area[word as Word] ?? 0) + 1
        }
  return counts
}

const sorted = (counts: Counts): Counts =>
  Object.fromEntries(
    Object.entries(counts)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([area, words]) => [area, Object.fromEntries(Object.entries(words).toSorted())]),
  )

/** What occurs more often than allowed. */
const more = (now: Counts, allowed: Counts): string[] =>
  Object.entries(now).flatMap(([area, words]) =>
    Object.entries(words)
      .filter(([word, count]) => count > (allowed[area]?.[word as Word] ?? 0))
      .map(
        ([word, count]) =>
          `${area}: "${word}" ${count} times, at most ${allowed[area]?.[word as Word] ?? 0}; usually it is: ${unclear[word as Word]}`,
      ),
  )

describe('plain English', () => {
  const prose = readAllProse()

  it('has none of the phrases that are never right', () => {
    expect(prose.flatMap(neverIn)).toEqual([])
  })

  it('has no more unclear words than before, area by area', () => {
    const now = countWords(prose)
    if (process.env.SELVEDGE_LOWER_WORDS)
      writeFileSync(wordsFile, `${JSON.stringify(sorted(now), undefined, 2)}\n`)
    const allowed = JSON.parse(readFileSync(wordsFile, 'utf8')) as Counts
    expect(more(now, allowed)).toEqual([])
  })
})

describe('the reading of prose', () => {
  const textOf = (path: string, text: string) =>
    readProse(path, text).sentences.map((each) => each.text.trim())

  it('has comments over several lines, literals of several words, test titles, templates and JSX', () => {
    const source = [
      '/** It goes',
      ' * by something. */',
      "it('not good here', () => {})",
      "const name = 'somebody'",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of a template.
      'const text = `whoever ${name} is`',
      'const element = <p>This very page</p>',
    ].join('\n')
    expect(neverIn(readProse('a.tsx', source)).map((each) => each.split(':')[1])).toEqual([
      '1 "goes by"',
      '3 "not good"',
      '5 "whoever"',
      '6 "This very"',
    ])
  })

  it('has paragraphs of documents as one line, and neither code nor names', () => {
    expect(
      textOf('a.md', 'It is\nplain `whoever`.\n\n```sh\nsomebody\n```\n- [one](somebody.md)\n- two'),
    ).toEqual(['It is plain `.', '- [one]', '- two'])
  })

  it('counts words by area, and reports only what became more', () => {
    const counts = countWords([
      readProse('apps/cli/src/a.ts', '// told, told and kept'),
      readProse('b.md', 'told'),
    ])
    expect(counts).toEqual({ 'apps/cli': { told: 2, kept: 1 }, 'b.md': { told: 1 } })
    expect(more(counts, { 'apps/cli': { told: 1, kept: 3 }, 'b.md': { told: 1 } })).toHaveLength(1)
  })
})
