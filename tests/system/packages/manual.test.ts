/** The manual pages: the formatter accepts every line, and they have every command and option that the command line declares. */
import { spawnSync } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { commands } from '../../../apps/cli/src/commands/index.ts'
import { manualOf } from '../../../packaging/deb/manual.ts'
import { products } from '../../../packaging/products.ts'
import { needs } from '../../harness/installed.ts'

const release = {
  version: '1.2.3',
  epochSeconds: 1_700_000_000,
  maintainer: { name: 'Jane Doe', email: 'jane@example.com' },
}
const pages = products.flatMap(({ usersCommands }) => usersCommands)

/** As a reader gets it, without line breaks and without bold type. */
function render(page: string): { text: string; warnings: string } {
  const args = ['-man', '-Tutf8', '-ww', '-P-c', '-P-b', '-P-o', '-P-u']
  const { stdout, stderr } = spawnSync('groff', args, {
    input: manualOf(page, release),
    encoding: 'utf8',
    env: { PATH: process.env.PATH, MANROFFOPT: '' },
  })
  // The formatter may break a line after any hyphen.
  return {
    text: stdout
      .replaceAll(/\u2010\n\s*/g, '')
      .replaceAll(/-\n\s*/g, '-')
      .replaceAll(/\s+/g, ' '),
    warnings: stderr,
  }
}

describe.each(pages)('the manual page of %s', needs('groff'), (page) => {
  let text = ''
  let warnings = ''
  beforeAll(() => {
    ;({ text, warnings } = render(page))
  })

  it('is formatted without a warning', () => {
    expect(warnings).toBe('')
    expect(text).toContain('NAME')
  })

  it('shows every command with its summary and its options, and no other option', () => {
    const declared = commands.filter(({ path }) => page === 'selvedge' || path[0] === 'admin')
    expect(declared.length).toBeGreaterThan(0)
    for (const { path, summary, options = [] } of declared) {
      const words = path.slice(page === 'selvedge' ? 0 : 1).join(' ')
      expect(text).toContain(words)
      expect(text, words).toContain(oneLine(summary))
      for (const { flags, description } of options)
        expect(text, words).toContain(`${oneLine(flags)}: ${oneLine(description)}`)
    }
    const known = new Set(
      declared.flatMap(({ options = [] }) => options.flatMap(({ flags }) => flagsIn(flags))),
    )
    const inTexts = flagsIn(
      declared
        .map(({ summary, options = [] }) =>
          [summary, ...options.map(({ description }) => description)].join(' '),
        )
        .join(' '),
    )
    const unknown = flagsIn(text).filter((flag) => !known.has(flag) && !inTexts.includes(flag))
    expect(
      [...new Set(unknown)].filter((flag) => !['--help', '--context', '--state', '--url'].includes(flag)),
    ).toEqual([])
  })
})

const flagsIn = (text: string): string[] => text.match(/(?<![\w-])--[a-z][a-z-]*[a-z]/g) ?? []
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ')
