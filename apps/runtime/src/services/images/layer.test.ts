/** What a layer is, and what no layer may hold. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Header } from 'tar'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { type Blobs, openBlobs } from './blobs.ts'
import { inspectLayer, type LayerReport } from './layer.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let blobs: Blobs
/** Lengths of the content that was watched. */
let watched: number[]
beforeEach(async () => {
  folder = await temporaryFolder()
  blobs = await openBlobs(folder.path)
  watched = []
})
afterEach(() => folder.remove())

type EntryOptions = ConstructorParameters<typeof Header>[0] & { content?: string }
type Each = Partial<Exclude<EntryOptions, Buffer | undefined>> & { path: string; content?: string }

function tarOf(...entries: Each[]): Buffer {
  const blocks = entries.flatMap(({ content = '', ...each }) => {
    const header = new Header({
      type: 'File',
      mode: 0o644,
      mtime: new Date(0),
      size: content.length,
      ...each,
    })
    header.encode()
    return [header.block!, Buffer.from(content), Buffer.alloc((512 - (content.length % 512)) % 512)]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

async function inspect(tar: Buffer, budget: (bytes: number) => void = () => undefined): Promise<LayerReport> {
  const source = async function* () {
    yield tar
  }
  return inspectLayer(blobs, source(), budget, (content, length) => {
    watched.push(length)
    return content
  })
}

const refusalOf = (...entries: Each[]) =>
  inspect(tarOf(...entries)).then(
    () => '',
    ({ reason, message }) => `${reason}: ${message}`,
  )
const drafts = () => readdirSync(join(folder.path, 'incoming'))

describe('the layer of a function', () => {
  it.each(['js', 'wasm'] as const)('holds index.%s alone', async (language) => {
    const tar = tarOf({ path: `./index.${language}`, content: 'run()' })
    const report = await inspect(tar)
    expect(report).toMatchObject({
      diffId: `sha256:${createHash('sha256').update(tar).digest('hex')}`,
      entry: { language, draft: { size: 5 } },
      notFunction: undefined,
      claimsFunction: true,
      hasFolders: false,
    })
    expect(readFileSync(report.entry!.draft.path, 'utf8')).toBe('run()')
    expect(watched).toEqual([5])
  })

  it('counts against the budget as it is unpacked', async () => {
    const tar = tarOf({ path: 'index.js', content: 'x' })
    let spent = 0
    await inspect(tar, (bytes) => {
      spent += bytes
    })
    expect(spent).toBe(tar.length)
  })

  it.each<[string, Each[], string, boolean]>([
    [
      'another file',
      [{ path: 'a.js' }, { path: 'index.js' }],
      'the layer holds "a.js" beside index.js or index.wasm',
      true,
    ],
    [
      'two entries',
      [{ path: 'index.js' }, { path: 'index.wasm' }],
      'the layer holds index.wasm twice, or both index.js and index.wasm',
      true,
    ],
    ['a folder', [{ path: 'index.js', type: 'Directory' }], 'index.js is a Directory, not a file', true],
    [
      'a link',
      [{ path: 'index.js', type: 'SymbolicLink', linkpath: 'a' }],
      'index.js is a SymbolicLink, not a file',
      true,
    ],
    ['nothing else', [{ path: 'a' }], 'the layer holds "a" beside index.js or index.wasm', false],
    [
      'a link after another file',
      [{ path: 'a' }, { path: 'index.js', type: 'SymbolicLink', linkpath: 'a' }],
      'the layer holds "a" beside index.js or index.wasm',
      false,
    ],
  ])('is no function with %s', async (_, entries, message, claimsFunction) => {
    const report = await inspect(tarOf(...entries))
    expect(report.notFunction).toMatchObject({ reason: 'invalid_image', message })
    expect(report.claimsFunction).toBe(claimsFunction)
  })

  it.each([
    ['._index.js', 'macOS'],
    ['a/.DS_Store', 'macOS'],
    ['__MACOSX/x', 'macOS'],
    ['a.__MACOSX', 'A function image holds one file'],
    ['package.json', 'A function image holds one file'],
  ])('is no function beside %s, with a hint why', async (path, hint) => {
    expect((await inspect(tarOf({ path }))).notFunction?.hint).toMatch(hint)
  })

  it('is no function with a file of more than 64 MiB, whatever follows', async () => {
    const header = (size: number) => {
      const made = new Header({ path: 'index.js', type: 'File', mode: 0o644, mtime: new Date(0), size })
      made.encode()
      return made.block!
    }
    const limit = 64 * 1024 * 1024
    const source = (size: number) =>
      async function* () {
        yield header(size)
        for (let left = Math.ceil(size / 512) * 512; left > 0; left -= 1024 * 1024)
          yield Buffer.alloc(Math.min(left, 1024 * 1024))
        yield Buffer.alloc(1024)
      }
    const report = (size: number) =>
      inspectLayer(
        blobs,
        source(size)(),
        () => undefined,
        (content) => content,
      )
    expect((await report(limit)).notFunction).toBeUndefined()
    const { notFunction, claimsFunction } = await report(limit + 1)
    expect([notFunction?.message, claimsFunction]).toEqual([`index.js is larger than ${limit} bytes`, true])
  })
})

describe('the layer of a container', () => {
  it.each<[string, Each[]]>([
    ['a folder', [{ path: 'bin', type: 'Directory' }]],
    ['a file below a folder', [{ path: 'bin/sh' }]],
  ])('has %s', async (_, entries) => {
    expect(await inspect(tarOf(...entries))).toMatchObject({ hasFolders: true, claimsFunction: false })
  })

  it('may be empty, and its root may name itself', async () => {
    expect(await inspect(Buffer.alloc(1024))).toMatchObject({ hasFolders: false, notFunction: undefined })
    expect(await inspect(tarOf({ path: './', type: 'Directory' }))).toMatchObject({
      ...{ hasFolders: false, notFunction: undefined, claimsFunction: false },
    })
  })

  it.each<[string, Each]>([
    ['to a file beside it', { path: 'a', type: 'SymbolicLink', linkpath: 'b' }],
    ['to its parent', { path: 'a/b', type: 'SymbolicLink', linkpath: '..' }],
    ['to a file of its parent', { path: 'a/b', type: 'SymbolicLink', linkpath: '../c' }],
    ['to the root', { path: 'a', type: 'SymbolicLink', linkpath: '/etc/passwd' }],
    ['as a hard link', { path: 'a', type: 'Link', linkpath: 'b/c' }],
  ])('may hold a link %s', async (_, entry) => {
    expect(await refusalOf(entry)).toBe('')
  })
})

describe('no layer holds', () => {
  it.each(['CharacterDevice', 'BlockDevice'] as const)('a %s', async (type) => {
    expect(await refusalOf({ path: 'dev/x', type })).toBe(
      'invalid_image: the layer holds the device node "dev/x"',
    )
  })

  it.each<[string, Each, string]>([
    ['above the root', { path: 'a/b', type: 'SymbolicLink', linkpath: '../../../x' }, '../../../x'],
    ['to the folder around the root', { path: 'a', type: 'SymbolicLink', linkpath: '..' }, '..'],
    ['as a hard link above the root', { path: 'a/b/c', type: 'Link', linkpath: '../../x' }, '../../x'],
    ['as a hard link to the folder around it', { path: 'a/b', type: 'Link', linkpath: 'c/../..' }, 'c/../..'],
  ])('a link %s', async (_, entry, target) => {
    expect(await refusalOf(entry)).toBe(
      `invalid_image: the layer holds the link "${entry.path}", which leads out of the root to "${target}"`,
    )
  })

  it('anything of it in the store, if it is refused', async () => {
    expect(await refusalOf({ path: 'index.js', content: 'x' }, { path: 'x', type: 'BlockDevice' })).toMatch(
      /device/,
    )
    expect(drafts()).toEqual([])
  })
})
