import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { root } from '../harness/processes.ts'

it('no tool stores its files in the default state folder: a service refuses a folder that others have', () => {
  const search = ['grep', '--files-with-matches', '--extended-regexp', "root(, '|}/)\\.selvedge/"]
  const { stdout, stderr } = spawnSync('git', search, { cwd: root, encoding: 'utf8' })
  expect(stderr + stdout).toBe('')
})
