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
