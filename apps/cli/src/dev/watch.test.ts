/** Every way in which editors and programs save. */
import { execFileSync, spawn } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../tests/harness/installed.ts'
import { type Watching, watchFolder } from './watch.ts'

let home: string
let folder: string
let watching: Watching
let saves: number
let problems: string[]

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'selvedge-watch-'))
  folder = join(home, 'own')
  mkdirSync(join(folder, 'src'), { recursive: true })
  writeFileSync(join(folder, 'index.ts'), '0')
  saves = 0
  problems = []
  watching = watchFolder(folder, {
    onSave: () => void saves++,
    onProblem: (text) => void problems.push(text),
  })
  await untilWatched()
})
afterEach(async () => {
  await watching.close()
  rmSync(home, { recursive: true, force: true })
})

const at = (path: string): string => join(folder, path)

/** Resolves once a change is seen, and those that belong to it. */
async function untilWatched(): Promise<void> {
  let round = 0
  const before = saves
  await expect
    .poll(() => {
      writeFileSync(at('probe'), String(round++))
      return saves
    })
    .toBeGreaterThan(before)
}

/** Whether a save is seen after a change, however it is made. */
async function expectSave(change: () => void): Promise<void> {
  const before = saves
  change()
  await expect.poll(() => saves).toBeGreaterThan(before)
}

describe('a save is seen', () => {
  it('again and again, when an editor writes a new file and renames it', async () => {
    for (let round = 0; round < 5; round++)
      await expectSave(() => {
        writeFileSync(at('.index.ts.swp'), String(round))
        renameSync(at('.index.ts.swp'), at('index.ts'))
      })
  })

  it('of sed -i, and of an editor that moves the old file away first', async () => {
    for (let round = 0; round < 3; round++) {
      await expectSave(() => execFileSync('sed', ['-i', `s/.*/${round}/`, at('index.ts')]))
      await expectSave(() => {
        renameSync(at('index.ts'), at('index.ts~'))
        writeFileSync(at('index.ts'), 'new')
      })
    }
  })

  it('in folders that are made later', async () => {
    mkdirSync(at('src/deep/er'), { recursive: true })
    await expectSave(() => writeFileSync(at('src/deep/er/a.ts'), '1'))
    await expectSave(() => writeFileSync(at('src/deep/er/a.ts'), '2'))
  })

  it('after the folder was deleted and made again', async () => {
    for (let round = 0; round < 2; round++) {
      await expectSave(() => rmSync(folder, { recursive: true }))
      await expectSave(() => {
        mkdirSync(folder)
        writeFileSync(at('index.ts'), 'again')
      })
      await untilWatched()
    }
  })

  it('of a folder that another one replaces by name', async () => {
    mkdirSync(join(home, 'next'))
    writeFileSync(join(home, 'next/index.ts'), 'next')
    renameSync(folder, join(home, 'before'))
    await expectSave(() => renameSync(join(home, 'next'), folder))
    await untilWatched()
  })

  it('of a file outside of the folder that was added', async () => {
    writeFileSync(join(home, 'shared.ts'), '1')
    watching.add([join(home, 'shared.ts'), at('index.ts')])
    let round = 0
    const before = saves
    await expect
      .poll(() => {
        writeFileSync(join(home, 'shared.ts'), String(round++))
        return saves
      })
      .toBeGreaterThan(before)
  })

  it('once for a burst of many files, or a few times', async () => {
    const before = saves
    mkdirSync(at('many'))
    for (let each = 0; each < 1500; each++) writeFileSync(at(`many/${each}.ts`), '')
    await expectSave(() => writeFileSync(at('index.ts'), 'last'))
    expect(saves - before).toBeLessThan(300)
    await untilWatched()
  })

  it('while a file is written without a pause', async () => {
    let isSeen = false
    const before = saves
    const write = () => {
      if (isSeen) return
      appendFileSync(at('index.ts'), 'x'.repeat(1000))
      setImmediate(write)
    }
    write()
    await expect.poll(() => saves).toBeGreaterThan(before)
    isSeen = true
  })
})

it('changes of packages, of Git and of archives are no saves, and links are not followed', async () => {
  mkdirSync(join(home, 'other'))
  symlinkSync(join(home, 'other'), at('link'))
  for (const each of ['node_modules/a', '.git', 'src/node_modules']) mkdirSync(at(each), { recursive: true })
  await untilWatched()
  const before = saves
  const paths = [
    'node_modules/a/index.js',
    '.git/HEAD',
    'src/node_modules/b.js',
    'image.tar',
    '../other/c.ts',
  ]
  for (const each of paths) writeFileSync(at(each), '1')
  // A change that is seen ends the time in which the others would be.
  await expectSave(() => writeFileSync(at('index.ts'), 'seen'))
  expect(saves - before).toBe(1)
})

it(
  'the limit of watched files is reported once, with the command that raises it; saves are seen all the same',
  needs('root'),
  async () => {
    const program = `
    import { watchFolder } from ${JSON.stringify(join(dirname(import.meta.filename), 'watch.ts'))}
    watchFolder(${JSON.stringify(folder)}, { onSave: () => console.log('saved'), onProblem: console.log })`
    const script = 'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"'
    const args = [
      '--user',
      '--map-root-user',
      'sh',
      '-c',
      script,
      'sh',
      process.execPath,
      '--conditions=source',
      '--input-type=module',
      '-e',
      program,
    ]
    const child = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    try {
      for (let each = 0; each < 20; each++) mkdirSync(at(`src/${each}`))
      await expect
        .poll(() => out)
        .toMatch(/the limit of watched files .*ENOSPC.*sudo sysctl fs\.inotify\.max_user_watches=/)
      let round = 0
      await expect
        .poll(() => {
          // Each time a new one: a poll that sees the folder twice in a second overlooks the second change.
          writeFileSync(at(`src/19/${round++}.ts`), '')
          return out
        })
        .toContain('saved')
    } finally {
      child.kill('SIGKILL')
    }
    expect(out.match(/limit of watched files/g)).toHaveLength(1)
  },
)
