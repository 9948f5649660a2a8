import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { moveContent } from './move-content.ts'

let from: string
let to: string
beforeEach(() => {
  const root = mkdtempSync(join(tmpdir(), 'selvedge-move-'))
  from = join(root, 'from')
  to = join(root, 'to')
  for (const folder of [from, to]) mkdirSync(folder)
  for (const name of ['a', 'b', 'lock', 'note']) writeFileSync(join(from, name), '')
})

it('moves everything but what stays', async () => {
  await moveContent(from, to, { but: ['lock'] })
  expect(readdirSync(to).sort()).toEqual(['a', 'b', 'note'])
  expect(readdirSync(from)).toEqual(['lock'])
})

it('moves one name after the others', async () => {
  rmSync(to, { recursive: true })
  await expect(moveContent(from, to, { but: ['a', 'b', 'lock'], last: 'note' })).rejects.toThrow('ENOENT')
  mkdirSync(to)
  await moveContent(from, to, { but: ['lock'], last: 'note' })
  expect(readdirSync(to).sort()).toEqual(['a', 'b', 'note'])
})
