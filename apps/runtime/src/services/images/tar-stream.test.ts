/** Archives with entries that nothing reads. */
import { gzipSync } from 'node:zlib'
import { Header } from 'tar'
import { expect, it } from 'vitest'
import { tarOf } from '../../../../../tests/harness/archives.ts'
import { randomOf } from '../../../../../tests/harness/seed.ts'

import { countedSource, manyTurns, opens } from '../../../../../tests/harness/unread.ts'
import { readTar, unpacked } from './tar-stream.ts'

const random = randomOf('tar-stream')

const maxRead = 4 * 1024 * 1024

it(
  'reads no more of an archive than the reader of its entry',
  opens('apps/runtime/src/services/images/tar-stream.ts'),
  async () => {
    const header = new Header({
      path: 'large',
      size: 8 * 1024 ** 3,
      type: 'File',
      mode: 0o644,
      mtime: new Date(0),
    })
    header.encode()
    const source = countedSource({ first: header.block! })
    const found = Promise.withResolvers<void>()
    const done = readTar(source, async (_, entry) => {
      found.resolve()
      await new Promise((_, reject) => entry.once('error', reject))
    })
    await found.promise
    await manyTurns()
    expect(source.read).toBeLessThan(maxRead)
    done.catch(() => undefined)
  },
)

it(
  'reads no more of a compressed archive than its reader',
  opens('apps/runtime/src/services/images/tar-stream.ts'),
  async () => {
    // A gzip file may have many members.
    const source = countedSource({ each: gzipSync(random.bytes(65_536)) })
    const read = unpacked(source, () => undefined)
    await read.next()
    await manyTurns()
    expect(source.read).toBeGreaterThan(0)
    expect(source.read).toBeLessThan(maxRead)
    await read.return(undefined)
  },
)

it.each([
  ['a/../b', 'leads out of it'],
  ['../b', 'leads out of it'],
  ['a/..', 'leads out of it'],
  ['/a', 'absolute name'],
  ['a\\..\\b', 'absolute name'],
])('refuses an entry with the name %j', async (path, problem) => {
  async function* archive() {
    yield tarOf([{ path: 'first' }, { path }])
  }
  const found: string[] = []
  const read = readTar(archive(), async (name) => void found.push(name))
  await expect(read).rejects.toThrow(problem)
  expect(found).toEqual(['first'])
})

/** An archive in other compressions: the first bytes that `xz`, `bzip2`, `lz4` and `lz4 -l` write. */
const compressed: [string, Buffer][] = [
  ['xz', Buffer.from('fd377a585a000004e6d6b446', 'hex')],
  ['bzip2', Buffer.from('BZh91AY&SY\x01\x02', 'latin1')],
  ['bzip2', Buffer.from('BZh11AY&SY\x01\x02', 'latin1')],
  ['lz4', Buffer.from('04224d186440a7', 'hex')],
  ['lz4', Buffer.from('02214c18ff000000', 'hex')],
]

it.each(compressed)(
  'refuses an archive in %s by that name, byte by byte, and closes it',
  async (name, start) => {
    let isClosed = false
    async function* archive() {
      try {
        for (const byte of start) yield Buffer.from([byte])
        for (;;) yield Buffer.alloc(1000)
      } finally {
        isClosed = true
      }
    }
    await expect(unpacked(archive(), () => undefined).next()).rejects.toMatchObject({
      reason: 'unsupported_image',
      message: expect.stringContaining(`it is compressed with ${name}; `),
    })
    expect(isClosed).toBe(true)
  },
)

it.each(['BZh9', 'BZh91AY&SX', 'BZh01AY&SY', '\xfd7zXX\0', '\x04"M\x19'])(
  'a file in an archive may have the name %j',
  async (path) => {
    const content = Buffer.from(path.padEnd(600, '\0'), 'latin1')
    async function* archive() {
      yield content
    }
    const read = []
    for await (const chunk of unpacked(archive(), () => undefined)) read.push(chunk)
    expect(Buffer.concat(read).equals(content)).toBe(true)
  },
)
