import { expect, it } from 'vitest'
import { readSources, readTests } from './sources.ts'

it('no tool stores its files in the default state folder: a service refuses a folder that others have', () => {
  const sources = [...readSources('packaging', 'scripts', 'bench'), ...readTests()]
  const others = sources.filter(({ text }) => /\broot(, '|\}\/)\.selvedge\//.test(text))
  expect(others.map(({ path }) => path)).toEqual([])
})
