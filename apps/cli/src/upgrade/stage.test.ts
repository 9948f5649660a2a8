/** From an archive to the folder of a release: another user may have written the archive, and may change it meanwhile. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Header, type HeaderData } from 'tar'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openBelow, recordSteps } from '../../../../tests/harness/recorded-steps.ts'
import { randomOf } from '../../../../tests/harness/seed.ts'
import { type OnProgress, stageRelease } from './stage.ts'

const random = randomOf('stage')

let folder: string
let releases: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-stage-'))
  releases = join(folder, 'releases')
  mkdirSync(releases)
})
afterEach(async () => {
  // Files of a refused archive may be open for a moment.
  await expect.poll(() => openBelow(folder)).toEqual([])
  rmSync(folder, { recursive: true })
})

interface Entry extends HeaderData {
  readonly content?: Buffer
}

/** Writes an archive with these entries, whatever their paths are. */
function writeArchive(entries: readonly Entry[]): string {
  const blocks = entries.flatMap(({ content = Buffer.alloc(0), ...data }) => {
    const header = new Header({ mode: 0o644, type: 'File', size: content.length, ...data })
    header.encode()
    return [header.block!, content, Buffer.alloc(-content.length & 511)]
  })
  const path = join(folder, 'archive.tar.gz')
  writeFileSync(path, gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)])))
  return path
}

const version: Entry = { path: 'selvedge-1.1.0/VERSION', content: Buffer.from('1.1.0\n') }
/** Does not shrink, so that it is read in several parts. */
const large: Entry = { path: 'selvedge-1.1.0/bin/runtime', content: random.bytes(300_000) }
const sha256Of = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

interface Options {
  readonly sha256?: string
  readonly check?: (tree: string) => void
  readonly onProgress?: OnProgress
}
const stage = (
  archive: string,
  { sha256 = sha256Of(archive), check = () => undefined, ...rest }: Options = {},
) => stageRelease(archive, sha256, releases, '1.1.0', check, rest.onProgress)

describe('a release', () => {
  it('has exactly the files of the archive below its first folder, and nothing else stays', async () => {
    await stage(writeArchive([version, large]))
    expect(readdirSync(releases)).toEqual(['1.1.0'])
    expect(readdirSync(join(releases, '1.1.0')).sort()).toEqual(['VERSION', 'bin'])
    expect(readFileSync(join(releases, '1.1.0/VERSION'), 'utf8')).toBe('1.1.0\n')
    expect(readFileSync(join(releases, '1.1.0/bin/runtime'))).toEqual(large.content)
  })

  it('belongs to the user of the command, and no other user can write to it', async () => {
    await stage(writeArchive([{ ...version, uid: 4711, gid: 4711, mode: 0o777 }]))
    const { uid, gid, mode } = statSync(join(releases, '1.1.0/VERSION'))
    expect([uid, gid]).toEqual([process.getuid!(), process.getgid!()])
    expect(mode & 0o777).toBe(0o755)
    expect(statSync(join(releases, '1.1.0')).mode & 0o777).toBe(0o755)
  })

  it('is checked before it has its name, in a folder without the name of a release', async () => {
    let checked = ''
    const check = (tree: string) => {
      checked = tree
      expect(readFileSync(join(tree, 'VERSION'), 'utf8')).toBe('1.1.0\n')
      // The copy is for this user alone.
      expect(statSync(join(tree, '../archive')).mode & 0o777).toBe(0o600)
    }
    await stage(writeArchive([version]), { check })
    expect(dirname(dirname(checked))).toBe(releases)
    expect(basename(dirname(checked))).toMatch(/^\.upgrade-/)
  })

  it('is on the disk before it has its name', async () => {
    const archive = writeArchive([version, large])
    const steps = recordSteps(releases)
    await stage(archive)
    const short = steps.map((step) => step.replaceAll(/\.upgrade-\w+/g, 'work'))
    expect([...short.slice(0, 3)].sort()).toEqual([
      'sync work/tree/VERSION',
      'sync work/tree/bin',
      'sync work/tree/bin/runtime',
    ])
    expect(short.slice(3)).toEqual(['sync work/tree', 'rename work/tree to 1.1.0', 'sync .', 'remove work'])
  })

  it('is read twice, and the progress counts both times', async () => {
    const archive = writeArchive([version, large])
    const { size } = statSync(archive)
    const shown: (readonly [number, number])[] = []
    await stage(archive, { onProgress: (done, total) => void shown.push([done, total]) })
    expect(new Set(shown.map(([, total]) => total))).toEqual(new Set([2 * size]))
    const done = shown.map(([each]) => each)
    expect(done).toEqual([...new Set(done)].sort((one, other) => one - other))
    expect(done.at(-1)).toBe(2 * size)
    expect(done.length).toBeGreaterThan(4)
  })
})

describe('an archive', () => {
  it('with other bytes is refused after its first reading, and nothing of it is written', async () => {
    const archive = writeArchive([version, large])
    let read = 0
    const onProgress: OnProgress = (done) => {
      read = done
      expect(readdirSync(releases)).toEqual([])
    }
    const staged = stage(archive, { sha256: 'ab'.repeat(32), onProgress })
    await expect(staged).rejects.toThrow(`has the SHA-256 ${sha256Of(archive)}`)
    expect(read).toBe(statSync(archive).size)
    expect(readdirSync(releases)).toEqual([])
  })

  it('that changes between its two readings is refused, and nothing of it stays', async () => {
    const archive = writeArchive([version, large])
    const sha256 = sha256Of(archive)
    const { size } = statSync(archive)
    const onProgress: OnProgress = (done) => {
      if (done === size) writeFileSync(archive, random.bytes(size))
    }
    await expect(stage(archive, { sha256, onProgress })).rejects.toThrow('has the SHA-256')
    expect(readdirSync(releases)).toEqual([])
  })

  it('that grows meanwhile is read as long as it was', async () => {
    const archive = writeArchive([version])
    const sha256 = sha256Of(archive)
    let isLonger = false
    const onProgress: OnProgress = () => {
      if (!isLonger) appendFileSync(archive, 'more')
      isLonger = true
    }
    await stage(archive, { sha256, onProgress })
    expect(isLonger).toBe(true)
    expect(readdirSync(releases)).toEqual(['1.1.0'])
  })

  it('leaves nothing if its release fails the check', async () => {
    const check = () => {
      throw new Error('of another version')
    }
    await expect(stage(writeArchive([version]), { check })).rejects.toThrow('of another version')
    expect(readdirSync(releases)).toEqual([])
  })

  it.each<[what: string, make: (path: string) => void, message: string]>([
    ['is a folder', (path) => mkdirSync(path), 'is not a regular file'],
    ['is a pipe', (path) => void execFileSync('mkfifo', [path]), 'is not a regular file'],
    [
      'is longer than a gigabyte',
      (path) => {
        writeFileSync(path, '')
        truncateSync(path, 1024 ** 3 + 1)
      },
      'is longer than 1073741824 bytes',
    ],
    [
      'is empty',
      (path) => writeFileSync(path, ''),
      'has the SHA-256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    ],
  ])('is refused if it %s', async (_, make, message) => {
    const path = join(folder, 'archive.tar.gz')
    make(path)
    await expect(stage(path, { sha256: 'ab'.repeat(32) })).rejects.toThrow(message)
    expect(readdirSync(releases)).toEqual([])
  })

  const content = Buffer.from('evil')
  const link: Entry = { path: 'selvedge-1.1.0/link', type: 'SymbolicLink', linkpath: '../../..' }
  it.each<[what: string, entries: () => readonly Entry[]]>([
    ['leads out of the folder', () => [version, { path: 'selvedge-1.1.0/../../../evil', content }]],
    ['is absolute', () => [version, { path: `selvedge-1.1.0/${folder}/evil`, content }]],
    ['is below a link', () => [version, link, { path: 'selvedge-1.1.0/link/evil', content }]],
  ])('is refused with a path that %s, even if it is signed', async (_, entries) => {
    await expect(stage(writeArchive(entries()))).rejects.toThrow()
    expect(readdirSync(folder).sort()).toEqual(['archive.tar.gz', 'releases'])
    expect(readdirSync(releases)).toEqual([])
  })

  it('that is no archive is refused, even if it is signed', async () => {
    const path = join(folder, 'archive.tar.gz')
    writeFileSync(path, 'selvedge')
    await expect(stage(path)).rejects.toThrow()
    expect(readdirSync(releases)).toEqual([])
  })
})
