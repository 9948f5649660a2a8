/** Documents are easy to read and cheap to clone: no long cells in tables, links that lead somewhere, and few pictures. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../harness/processes.ts'

/** Characters of a cell; longer texts are lists under headings. */
const maxCell = 120
/** Bytes of all pictures together. */
const maxPictures = 1_000_000

const tracked = (...patterns: string[]): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(root, path)))

const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, '')

function longCells(text: string): string[] {
  return withoutCode(text)
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^[| :-]+$/.test(line))
    .flatMap((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .filter((cell) => cell.length > maxCell)
}

/** Paths that the links and pictures of a document lead to; links to other sites and headings are left out. */
const linksOf = (text: string): string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g)]
    .map(([, target]) => target!)
    .filter((target) => !/^[a-z]+:/.test(target))

describe('documents', () => {
  const documents = tracked('*.md').map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

  it('have no table cell above 120 characters', () => {
    const found = documents.flatMap(({ path, text }) => longCells(text).map((cell) => `${path}: ${cell}`))
    expect(found).toEqual([])
  })

  it('link to files that exist', () => {
    const broken = documents
      // A part of docs/reference/http.md: its links start there.
      .filter(({ path }) => path !== 'docs/generate/http.md')
      .flatMap(({ path, text }) =>
        linksOf(text)
          .filter((target) => !existsSync(join(root, dirname(path), decodeURI(target))))
          .map((target) => `${path}: ${target}`),
      )
    expect(broken).toEqual([])
  })

  it('have pictures of less than 1 MB in all', () => {
    const sizes = tracked('*.png', '*.jpg', '*.svg', '*.gif', '*.webp').map(
      (path) => statSync(join(root, path)).size,
    )
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(maxPictures)
  })
})

describe('the reading of documents', () => {
  it('finds a long cell in a table, and none in code or in the line below the head', () => {
    const long = 'x'.repeat(maxCell + 1)
    expect(longCells(`| a | b |\n| ${'-'.repeat(300)} | --- |\n| ${long} | b |`)).toEqual([long])
    expect(longCells(`\`\`\`\n| ${long} |\n\`\`\`\n`)).toEqual([])
  })

  it('finds links to files, and no links to other sites or headings', () => {
    expect(linksOf('[a](b.md#c) ![d](e.png) [f](https://g) [h](#i)')).toEqual(['b.md', 'e.png'])
  })
})
