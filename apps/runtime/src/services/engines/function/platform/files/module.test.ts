/** `node:fs` of a function, as packages use it. It runs in Node.js here, and on Deno in `tests/system/services`. */
import { promisify } from 'node:util'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { createFileModules } from './module.ts'

type Fs = typeof import('node:fs')
let fs: Fs
let promises: typeof import('node:fs/promises')
const limits = { bytes: 200_000, nodes: 20, depth: 6, nameBytes: 255, pathCharacters: 1000, descriptors: 4 }

beforeEach(() => {
  const made = createFileModules(limits)
  fs = made.fs as unknown as Fs
  promises = made.promises as unknown as typeof promises
})

/** The code of what a call throws. */
function codeOf(call: () => unknown): string {
  try {
    call()
  } catch (cause) {
    return (cause as { code: string }).code
  }
  return 'nothing'
}

describe('files of a function', () => {
  it('are read as they were written, appended and cut', () => {
    fs.writeFileSync('/tmp/a', 'hällo')
    expect(fs.readFileSync('/tmp/a', 'utf8')).toBe('hällo')
    expect(fs.readFileSync('/tmp/a')).toEqual(Buffer.from('hällo'))
    fs.appendFileSync('/tmp/a', Buffer.from('!'))
    expect(fs.readFileSync(new URL('file:///tmp/a'), { encoding: 'latin1' })).toBe('hÃ¤llo!')
    fs.truncateSync('/tmp/a', 1)
    fs.truncateSync('/tmp/a', 3)
    expect(fs.readFileSync('/tmp/a', 'utf8')).toBe('h\0\0')
    fs.writeFileSync('/tmp/a', 'aGk=', 'base64')
    expect(fs.readFileSync('/tmp/a', 'utf8')).toBe('hi')
  })

  it('are copies: no caller changes a file through what it read or wrote', () => {
    const given = Buffer.from('abc')
    fs.writeFileSync('/tmp/a', given)
    given.fill(0)
    fs.readFileSync('/tmp/a').fill(0)
    expect(fs.readFileSync('/tmp/a', 'utf8')).toBe('abc')
  })

  it('are read and written at positions', () => {
    const file = fs.openSync('/tmp/a', 'w+')
    expect(fs.writeSync(file, 'hello')).toBe(5)
    expect(fs.writeSync(file, Buffer.from('xyz'), 1, 2, 10)).toBe(2)
    expect(fs.writeSync(file, 'J', 0, 'utf8')).toBe(1)
    const buffer = Buffer.alloc(20)
    expect(fs.readSync(file, buffer, 2, 10, 0)).toBe(10)
    expect(buffer.toString('latin1')).toBe(`\0\0Jello${'\0'.repeat(13)}`)
    expect(fs.readSync(file, buffer, { position: 10 })).toBe(2)
    expect(fs.fstatSync(file).size).toBe(12)
    expect(fs.writeSync(file, '0', 'utf8' as never)).toBe(1)
    expect(fs.fstatSync(file).size).toBe(12)
    fs.ftruncateSync(file, 2)
    fs.closeSync(file)
    expect(fs.readFileSync('/tmp/a', 'utf8')).toBe('Je')
  })

  it('have folders', () => {
    expect(fs.mkdirSync('/tmp/a/b/c', { recursive: true })).toBe('/tmp/a')
    expect(fs.mkdirSync('/tmp/a/b', { recursive: true })).toBeUndefined()
    fs.writeFileSync('/tmp/a/b/file', '')
    expect(fs.readdirSync('/tmp/a/b')).toEqual(['c', 'file'])
    expect(fs.readdirSync('/tmp', { recursive: true })).toEqual(['a', 'a/b', 'a/b/c', 'a/b/file'])
    const shown = fs
      .readdirSync('/tmp/a/b', { withFileTypes: true })
      .map((each) => [each.name, each.parentPath, each.isDirectory(), each.isFile()])
    expect(shown).toEqual([
      ['c', '/tmp/a/b', true, false],
      ['file', '/tmp/a/b', false, true],
    ])
    const made = fs.mkdtempSync('/tmp/x-')
    expect(made).toMatch(/^\/tmp\/x-.{8}$/)
    expect(fs.statSync(made).isDirectory()).toBe(true)
    fs.rmSync('/tmp/a', { recursive: true })
    fs.rmSync('/tmp/a', { recursive: true, force: true })
    expect(fs.existsSync('/tmp/a/b')).toBe(false)
    expect(fs.readdirSync('/')).toEqual(['tmp'])
  })

  it('are renamed, and replace what they may', () => {
    fs.mkdirSync('/tmp/a')
    fs.writeFileSync('/tmp/a/1', 'one')
    fs.writeFileSync('/tmp/2', 'two')
    fs.renameSync('/tmp/a/1', '/tmp/2')
    expect(fs.readFileSync('/tmp/2', 'utf8')).toBe('one')
    fs.renameSync('/tmp/a', '/tmp/b')
    fs.copyFileSync('/tmp/2', '/tmp/b/3')
    expect(fs.readdirSync('/tmp', { recursive: true })).toEqual(['2', 'b', 'b/3'])
    expect(codeOf(() => fs.renameSync('/tmp/b', '/tmp/b/c'))).toBe('EINVAL')
    expect(codeOf(() => fs.renameSync('/tmp/2', '/tmp/b'))).toBe('EISDIR')
    expect(codeOf(() => fs.renameSync('/tmp/b', '/tmp/2'))).toBe('ENOTDIR')
    fs.mkdirSync('/tmp/c')
    expect(codeOf(() => fs.renameSync('/tmp/c', '/tmp/b'))).toBe('ENOTEMPTY')
  })

  it('show their times, modes and sizes', () => {
    fs.writeFileSync('/tmp/a', '12345', { mode: 0o640 })
    fs.utimesSync('/tmp/a', 1, new Date(2000))
    const { mode, size, mtimeMs, atime, uid } = fs.statSync('/tmp/a')
    expect([mode, size, mtimeMs, atime, uid]).toEqual([0o100_640, 5, 2000, new Date(1000), 65_534])
    expect(fs.statSync('/tmp/a', { bigint: true }).mtimeNs).toBe(2_000_000_000n)
    fs.chmodSync('/tmp/a', '600')
    expect(fs.lstatSync('/tmp/a').mode).toBe(0o100_600)
    expect(fs.statSync('/tmp/b', { throwIfNoEntry: false })).toBeUndefined()
    expect(fs.realpathSync('/tmp/../tmp/./a')).toBe('/tmp/a')
    expect(fs.realpathSync.native('/tmp/a')).toBe('/tmp/a')
  })
})

describe('the calls with callbacks and promises', () => {
  it('do the same', async () => {
    await promisify(fs.writeFile)('/tmp/a', 'hello')
    expect(await promisify(fs.readFile)('/tmp/a', 'utf8')).toBe('hello')
    expect(await new Promise((resolve) => fs.exists('/tmp/a', resolve))).toBe(true)
    await promises.appendFile('/tmp/a', ' world')
    expect(await promises.readFile('/tmp/a', 'utf8')).toBe('hello world')
    await promises.mkdir('/tmp/b')
    await expect(promises.readFile('/tmp/c')).rejects.toMatchObject({
      code: 'ENOENT',
      syscall: 'open',
      path: '/tmp/c',
    })
    await expect(promisify(fs.stat)('/tmp/c')).rejects.toMatchObject({ code: 'ENOENT' })
    expect(fs.promises).toBe(promises)
  })

  it('give a callback the count and the buffer', async () => {
    fs.writeFileSync('/tmp/a', 'hello')
    const file = fs.openSync('/tmp/a', 'r')
    const { bytesRead, buffer } = await promisify(fs.read)(file, Buffer.alloc(3), 0, 3, 1)
    expect([bytesRead, buffer.toString()]).toEqual([3, 'ell'])
    const given = await new Promise((resolve) => fs.read(file, (...all) => resolve(all.slice(0, 2))))
    expect(given).toEqual([null, 5])
  })

  it('call back later, also with an error, and refuse wrong arguments at once', async () => {
    const done = vi.fn()
    fs.readFile('/tmp/a', done)
    expect(done).not.toHaveBeenCalled()
    await vi.waitFor(() => expect(done).toHaveBeenCalled(), { timeout: 120_000 })
    expect(done.mock.calls[0]![0]).toMatchObject({ code: 'ENOENT' })
    expect(codeOf(() => fs.readFile('/tmp/a', undefined as never))).toBe('ERR_INVALID_ARG_TYPE')
    expect(codeOf(() => fs.readFile({} as never, done))).toBe('ERR_INVALID_ARG_TYPE')
    expect(codeOf(() => fs.writeFileSync('/tmp/a', 5 as never))).toBe('ERR_INVALID_ARG_TYPE')
  })

  it('have handles', async () => {
    const handle = await promises.open('/tmp/a', 'w+')
    await handle.writeFile('hello')
    expect((await handle.stat()).size).toBe(5)
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(5), 0, 5, 0)
    expect([bytesRead, buffer.toString()]).toEqual([5, 'hello'])
    await handle.close()
    await handle.close()
    await expect(handle.stat()).rejects.toMatchObject({ code: 'EBADF' })
  })

  it('have streams, with parts of files', async () => {
    const events: string[] = []
    const output = fs.createWriteStream('/tmp/a')
    for (const name of ['open', 'ready', 'finish', 'close']) output.on(name, () => events.push(name))
    output.write('0123456789')
    output.end(Buffer.alloc(150_000, 'x'))
    await new Promise<void>((resolve) => output.on('close', () => resolve()))
    expect([events, output.bytesWritten]).toEqual([['open', 'ready', 'finish', 'close'], 150_010])
    const read = async (options?: object) =>
      Buffer.concat(await fs.createReadStream('/tmp/a', options).toArray()).toString()
    expect(await read({ start: 2, end: 4 })).toBe('234')
    expect((await read()).length).toBe(150_010)
    const absent = fs.createReadStream('/tmp/b')
    const failed = await new Promise((resolve) => absent.on('error', resolve))
    expect(failed).toMatchObject({ code: 'ENOENT' })
    // Every stream has closed its descriptor.
    expect(fs.openSync('/tmp/a', 'r')).toBe(1000)
  })

  it('have streams that packages make without new', () => {
    const { ReadStream } = fs as unknown as { ReadStream: (path: string) => object }
    fs.writeFileSync('/tmp/a', '')
    expect(ReadStream('/tmp/a')).toBeInstanceOf(ReadStream)
  })
})

describe('nothing', () => {
  it.each([
    '/etc/passwd',
    '/proc/self/environ',
    '/proc/self/fd/3',
    '/dev/null',
    '/control',
    '/start/service',
    '/tmp/../etc/passwd',
    '../../etc/passwd',
    '/tmp/a/../../host',
    'etc/passwd',
  ])('is at %s', (path) => {
    for (const call of [fs.readFileSync, fs.statSync, fs.readdirSync, fs.unlinkSync, fs.realpathSync])
      expect(codeOf(() => call(path))).toBe('ENOENT')
    expect(fs.existsSync(path)).toBe(false)
  })

  it('can be made or changed outside of /tmp', () => {
    for (const call of [
      () => fs.writeFileSync('/a', ''),
      () => fs.mkdirSync('/a'),
      () => fs.mkdirSync('/a/b', { recursive: true }),
      () => fs.rmSync('/tmp', { recursive: true }),
      () => fs.rmdirSync('/tmp'),
      () => fs.renameSync('/tmp', '/b'),
      () => fs.chmodSync('/', 0o777),
      () => fs.accessSync('/', fs.constants.W_OK),
    ])
      expect(codeOf(call)).toBe('EROFS')
    expect(codeOf(() => fs.accessSync('/tmp', fs.constants.W_OK))).toBe('nothing')
    expect(codeOf(() => fs.writeFileSync('/a/b', ''))).toBe('ENOENT')
  })

  it.each([0, 3, 4, 255, 999, 1000, -1, 1.5, '1000', null])(
    'is read from the descriptor %j',
    (descriptor) => {
      const read = () => fs.readSync(descriptor as number, Buffer.alloc(1))
      const write = () => fs.writeSync(descriptor as number, 'x')
      expect([codeOf(read), codeOf(write)]).toEqual(['EBADF', 'EBADF'])
      for (const call of [fs.fstatSync, fs.closeSync, fs.fsyncSync])
        expect(codeOf(() => call(descriptor as number))).toBe('EBADF')
    },
  )

  it('that is open to read can be written, or the other way round', () => {
    fs.writeFileSync('/tmp/a', 'a')
    expect(codeOf(() => fs.writeSync(fs.openSync('/tmp/a', 'r'), 'x'))).toBe('EBADF')
    expect(codeOf(() => fs.readSync(fs.openSync('/tmp/a', 'a'), Buffer.alloc(1)))).toBe('EBADF')
    expect(codeOf(() => fs.openSync('/tmp/a', 'wx'))).toBe('EEXIST')
    expect(codeOf(() => fs.openSync('/tmp/b', 'r+'))).toBe('ENOENT')
    expect(codeOf(() => fs.openSync('/tmp', 'r+'))).toBe('EISDIR')
    expect(codeOf(() => fs.readFileSync('/tmp'))).toBe('EISDIR')
    expect(codeOf(() => fs.readFileSync('/tmp/a/b'))).toBe('ENOTDIR')
  })

  it('is a link', () => {
    fs.writeFileSync('/tmp/a', '')
    expect(codeOf(() => fs.symlinkSync('/etc/passwd', '/tmp/b'))).toBe('EPERM')
    expect(codeOf(() => fs.linkSync('/tmp/a', '/tmp/b'))).toBe('EPERM')
    expect(codeOf(() => fs.readlinkSync('/tmp/a'))).toBe('EINVAL')
  })

  it.each(['http://h/tmp/a', 'file://host/tmp/a', 'file:///tmp/%2fa'])('is at the URL %s', (url) => {
    expect(codeOf(() => fs.readFileSync(new URL(url)))).toBe('ERR_INVALID_ARG_VALUE')
  })

  it('has a path with a null byte, a long name, or a flag that does not exist', () => {
    expect(codeOf(() => fs.readFileSync('/tmp/a\0b'))).toBe('ERR_INVALID_ARG_VALUE')
    expect(codeOf(() => fs.writeFileSync(`/tmp/${'a'.repeat(256)}`, ''))).toBe('ENAMETOOLONG')
    expect(codeOf(() => fs.writeFileSync(`/tmp/${'ä'.repeat(128)}`, ''))).toBe('ENAMETOOLONG')
    expect(codeOf(() => fs.writeFileSync(`/tmp/${'ä'.repeat(127)}`, ''))).toBe('nothing')
    expect(codeOf(() => fs.readFileSync('/tmp/a/'.repeat(200)))).toBe('ENAMETOOLONG')
    for (const flag of ['q', 'rwx', '__proto__', 'constructor', 'wxxxx'])
      expect(codeOf(() => fs.openSync('/tmp/a', flag))).toBe('ERR_INVALID_ARG_VALUE')
  })
})

describe('the limits', () => {
  it('are of the bytes of all files, and a removed file gives them back', () => {
    fs.writeFileSync('/tmp/a', Buffer.alloc(150_000))
    expect(codeOf(() => fs.writeFileSync('/tmp/b', Buffer.alloc(60_000)))).toBe('ENOSPC')
    expect(codeOf(() => fs.appendFileSync('/tmp/a', Buffer.alloc(60_000)))).toBe('ENOSPC')
    fs.appendFileSync('/tmp/a', Buffer.alloc(50_000))
    fs.unlinkSync('/tmp/a')
    fs.writeFileSync('/tmp/b', Buffer.alloc(200_000))
  })

  it('count a removed file as long as it is open', () => {
    const file = fs.openSync('/tmp/a', 'w+')
    fs.writeSync(file, Buffer.alloc(150_000))
    fs.unlinkSync('/tmp/a')
    expect(codeOf(() => fs.writeFileSync('/tmp/b', Buffer.alloc(60_000)))).toBe('ENOSPC')
    expect(fs.fstatSync(file).size).toBe(150_000)
    fs.closeSync(file)
    fs.writeFileSync('/tmp/b', Buffer.alloc(200_000))
  })

  it('count a file that another one replaces', () => {
    for (let round = 0; round < 10; round += 1) {
      fs.writeFileSync('/tmp/a', Buffer.alloc(90_000))
      fs.renameSync('/tmp/a', '/tmp/b')
    }
  })

  it('are of positions and lengths too', () => {
    const file = fs.openSync('/tmp/a', 'w+')
    for (const position of [1e6, 1e12, Number.MAX_SAFE_INTEGER - 10])
      expect(codeOf(() => fs.writeSync(file, 'x', position))).toBe('ENOSPC')
    expect(codeOf(() => fs.ftruncateSync(file, 1e12))).toBe('ENOSPC')
    for (const position of [-2, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(codeOf(() => fs.readSync(file, Buffer.alloc(1), 0, 1, position))).toBe('ERR_OUT_OF_RANGE')
    expect(codeOf(() => fs.readSync(file, Buffer.alloc(4), 2, 3, 0))).toBe('ERR_OUT_OF_RANGE')
    expect(fs.fstatSync(file).size).toBe(0)
  })

  it('are of files and folders, their depth, and descriptors', () => {
    const made = Array.from({ length: 30 }, (_, at) => codeOf(() => fs.writeFileSync(`/tmp/${at}`, '')))
    expect(made.filter((code) => code === 'ENOSPC')).toHaveLength(12)
    for (let at = 0; at < 18; at += 1) fs.rmSync(`/tmp/${at}`)
    expect(codeOf(() => fs.mkdirSync('/tmp/1/2/3/4/5/6', { recursive: true }))).toBe('ENAMETOOLONG')
    fs.mkdirSync('/tmp/1/2/3/4/5', { recursive: true })
    fs.mkdirSync('/tmp/a/b', { recursive: true })
    expect(codeOf(() => fs.renameSync('/tmp/1', '/tmp/a/b/1'))).toBe('ENAMETOOLONG')
    const opened = Array.from({ length: 6 }, () => codeOf(() => fs.openSync('/tmp', 'r')))
    expect(opened).toEqual(['nothing', 'nothing', 'nothing', 'nothing', 'EMFILE', 'EMFILE'])
  })
})

describe('files of the bundle', () => {
  const add = (files: Record<string, string>) =>
    (fs as unknown as Record<symbol, (given: object) => void>)[Symbol.for('selvedge.files')]!(files)
  const base64 = (text: string) => Buffer.from(text).toString('base64')

  it('are read at their paths, as files and in folders', () => {
    add({ '/data/a.txt': base64('hällo'), '/data/b/c': '' })
    expect(fs.readFileSync('data/a.txt', 'utf8')).toBe('hällo')
    expect(fs.readdirSync('/data')).toEqual(['a.txt', 'b'])
    expect(fs.readdirSync('/').sort()).toEqual(['data', 'tmp'])
    expect(fs.statSync('/data/a.txt')).toMatchObject({ size: 6, mode: 0o100444 })
    fs.copyFileSync('/data/a.txt', '/tmp/a')
    fs.appendFileSync('/tmp/a', '!')
    expect(fs.readFileSync('/tmp/a', 'utf8')).toBe('hällo!')
  })

  it('cannot be changed, also not by a descriptor', () => {
    add({ '/data/a.txt': base64('a') })
    const file = fs.openSync('/data/a.txt', 'r')
    const calls = [
      () => fs.writeFileSync('/data/a.txt', 'b'),
      () => fs.appendFileSync('/data/a.txt', 'b'),
      () => fs.openSync('/data/a.txt', 'r+'),
      () => fs.truncateSync('/data/a.txt'),
      () => fs.writeFileSync('/data/new', 'b'),
      () => fs.mkdirSync('/data/new'),
      () => fs.unlinkSync('/data/a.txt'),
      () => fs.rmSync('/data', { recursive: true }),
      () => fs.renameSync('/data/a.txt', '/tmp/a'),
      () => fs.chmodSync('/data/a.txt', 0o666),
      () => fs.utimesSync('/data/a.txt', 1, 1),
      () => fs.accessSync('/data/a.txt', fs.constants.W_OK),
      () => fs.fchmodSync(file, 0o666),
      () => fs.fchownSync(file, 0, 0),
      () => fs.futimesSync(file, 1, 1),
    ]
    expect(calls.map(codeOf)).toEqual(calls.map(() => 'EROFS'))
    expect(codeOf(() => fs.writeSync(file, 'b'))).toBe('EBADF')
    expect(codeOf(() => fs.ftruncateSync(file))).toBe('EINVAL')
    expect(fs.readFileSync('/data/a.txt', 'utf8')).toBe('a')
  })

  it('are given once, not in /tmp or below a file, and within the limits', () => {
    add({ '/data/a': base64('a') })
    const codes = ['/data/a', '/data/a/b', '/tmp/a', '/', '/a/b/c/d/e/f/g'].map((path) =>
      codeOf(() => add({ [path]: '' })),
    )
    expect(codes).toEqual(['EEXIST', 'ENOTDIR', 'EROFS', 'EROFS', 'ENAMETOOLONG'])
    expect(codeOf(() => add({ '/large': Buffer.alloc(200_001).toString('base64') }))).toBe('ENOSPC')
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`/${at}`, '']))
    expect(codeOf(() => add(many))).toBe('ENOSPC')
  })
})
