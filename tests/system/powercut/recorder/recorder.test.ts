/** What the recorder makes of strace's lines, and of a program that does what daemons do. */
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../harness/installed.ts'
import { readCalls } from './calls.ts'
import { record } from './record.ts'

const hex = (text: string) => [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16)}`).join('')

describe('lines of strace', () => {
  it('are calls with the moments of their entry and return, also where another call came between', () => {
    const calls = readCalls(
      [
        `7 fsync(3<${hex('/d/a')}> <unfinished ...>`,
        `8 pwrite64(4<${hex('/d/b')}>, "${hex('x, (y')}", 5, 512) = 5`,
        '7 <... fsync resumed>)              = 0',
        `8 unlink("${hex('/d/c')}") = -1 ENOENT (No such file or directory)`,
      ].join('\n'),
    )
    expect(calls.map(({ name, args, entered, returned }) => [name, args.length, entered, returned])).toEqual([
      ['pwrite64', 4, 1, 1],
      ['fsync', 1, 0, 2],
    ])
  })

  it('are refused where strace cut off what was written', () =>
    expect(() => readCalls(`7 write(1<${hex('/d/a')}>, "${hex('abc')}"..., 9) = 9`)).toThrow('cut off'))
})

const program = `
const { promises: fs, ...sync } = require('node:fs')
const main = async () => {
  await fs.mkdir('folder')
  const handle = await fs.open('folder/draft', 'w')
  await handle.write('first ')
  await handle.writev([Buffer.from('second '), Buffer.from('third')])
  await handle.write('FIRST', 0)
  await handle.datasync()
  await handle.close()
  await fs.rename('folder/draft', 'folder/file')
  sync.appendFileSync('log', 'one ')
  sync.appendFileSync('log', 'two')
  await fs.truncate('log', 5)
  sync.writeFileSync('gone', 'x')
  sync.unlinkSync('gone')
  process.stdout.write('done')
}
main()`

describe('a recorded program', needs('strace'), () => {
  it('is explained byte by byte, in the order of its calls', async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'recorder-')))
    const recorder = record(folder, [process.execPath, '-e', program], {
      cwd: folder,
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    recorder.process.stdout!.resume()
    await once(recorder.process, 'exit')
    const { operations, files } = await recorder.read()
    rmSync(folder, { recursive: true })
    expect(Object.fromEntries([...files].map(([path, content]) => [path, content.toString()]))).toEqual({
      'folder/file': 'FIRST second third',
      log: 'one t',
    })
    const kinds = operations.flatMap((each) =>
      each.kind === 'answer' && !each.data.includes('done') ? [] : [each.kind],
    )
    expect(kinds).toEqual([
      ...['link', 'link', 'write', 'write', 'write', 'sync', 'rename'],
      ...['link', 'write', 'write', 'truncate', 'link', 'write', 'unlink', 'answer'],
    ])
  })
})
