/** What the help of commands that deploy shows of settings. */
import { containerSettings } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import type { Terminal } from '../../output/terminal.ts'
import { runCli } from '../../program.ts'
import { commands } from '../index.ts'

it.each(['deploy', 'container deploy'])(
  'the help of "%s" lists the settings, and where they are described',
  async (words) => {
    let text = ''
    const terminal = { out: (part: string) => (text += part), note: () => undefined } as unknown as Terminal
    expect(await runCli([...words.split(' '), '--help'], commands, terminal)).toBe(0)
    const [, notes = ''] = text.split('Settings for --env, each as MCM.<name>=<value>:\n')
    const names = notes.split('\n').flatMap((line) => (line.startsWith('  ') ? line.trim().split(' ') : []))
    expect(names.map((name) => `MCM.${name}`)).toEqual(Object.keys(containerSettings))
    expect(notes).toContain('selvedge help settings')
    for (const line of notes.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
  },
)
