/** Files of an app in the folder of an instance: single ones, and whole folders. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '@selvedge/protocol'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openConfigFiles } from './config-files.ts'

let parent: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'config-files-'))
})
afterEach(() => rmSync(parent, { recursive: true }))

const file = (target: string, content: string, mode = 0o444) => ({
  ...{ target, mode, uid: 0, gid: 0, digest: content.padEnd(64, '0') },
  read: () => Buffer.from(content),
})
const open = (folders: string, isNew = true) =>
  openConfigFiles(
    parent,
    'web-1',
    {
      settings: readSettings({ 'MCM.CONFIG_FOLDERS': folders }),
      configs: [
        file('/etc/app/a.yml', 'a'),
        file('/etc/app/rules/b.sh', 'b', 0o555),
        file('/etc/app-c', 'c'),
      ],
    },
    { kind: 'engine' },
    isNew,
  )

it('a folder is one mount with its files in it, which every user can read, whatever the umask', () => {
  const before = process.umask(0o077)
  try {
    const { mounts } = open('/etc/app')
    expect(mounts.map(({ target }) => target)).toEqual(['/etc/app-c', '/etc/app'])
    const { path } = mounts[1]!
    expect(readdirSync(path, { recursive: true }).toSorted()).toEqual(['a.yml', 'rules', 'rules/b.sh'])
    expect(readFileSync(join(path, 'rules/b.sh'), 'utf8')).toBe('b')
    const modes = ['.', 'a.yml', 'rules', 'rules/b.sh'].map((each) => statSync(join(path, each)).mode & 0o777)
    expect(modes).toEqual([0o755, 0o444, 0o755, 0o555])
  } finally {
    process.umask(before)
  }
})

it('an instance that is adopted has the same mounts, and what is removed is gone', () => {
  const { mounts, remove } = open('/etc/app')
  expect(open('/etc/app', false).mounts).toEqual(mounts)
  remove()
  expect(readdirSync(parent)).toEqual([])
})

it('without folders, each file is a mount', () => {
  expect(open('').mounts.map(({ target }) => target)).toEqual([
    '/etc/app/a.yml',
    '/etc/app/rules/b.sh',
    '/etc/app-c',
  ])
})
