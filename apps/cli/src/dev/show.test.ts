import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createShow } from './show.ts'

const deployed = {
  id: 'hello',
  kind: 'function',
  url: 'http://localhost/hello',
  modules: [],
  buildMs: 1,
  deployMs: 1,
} as never

const folder = mkdtempSync(join(tmpdir(), 'show-'))
afterAll(() => rmSync(folder, { recursive: true }))

function showing() {
  const notes: string[] = []
  const terminal = { out: () => {}, note: (text: string) => void notes.push(text) }
  return { notes, show: createShow(terminal, folder) }
}

it('shows a failure once, however often the same is tried', () => {
  const { notes, show } = showing()
  for (let round = 0; round < 3; round++) show.failed(new Error('index.ts:3:5: unexpected token'))
  expect(notes).toEqual(['not deployed: index.ts:3:5: unexpected token'])
})

it('shows a failure again after another one, and after a deployment', () => {
  const { notes, show } = showing()
  show.failed(new Error('first'))
  show.failed(new Error('second'))
  show.failed(new Error('first'))
  show.deployed(deployed)
  show.failed(new Error('first'))
  const failures = notes.filter((each) => each.startsWith('not deployed'))
  expect(failures.map((each) => each.split(': ')[1])).toEqual(['first', 'second', 'first', 'first'])
})

it('shows a failure again when the line that it is about has changed', () => {
  const { notes, show } = showing()
  show.deployed(deployed)
  for (const line of ['let a = }', 'let a = }', 'let b = }']) {
    writeFileSync(join(folder, 'index.js'), line)
    show.failed(new Error('unexpected token at index.js:1:9'))
  }
  expect(notes.filter((each) => each.includes(' = }'))).toHaveLength(2)
})
