import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { whyForbidden } from './forbidden-paths.ts'
import { holdPath } from './held-path.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'held-')))
  mkdirSync(join(folder, 'media'))
  writeFileSync(join(folder, 'media/song'), 'la')
})
afterEach(() => rmSync(folder, { recursive: true }))

function pathOf(path: string, root?: string): string {
  const held = holdPath(path, root)
  held.close()
  return held.path
}

describe('a path of the device', () => {
  it('is what it is, with what the system knows of it', () => {
    const held = holdPath(join(folder, 'media'))
    expect(held.path).toBe(join(folder, 'media'))
    expect(held.stats.isDirectory()).toBe(true)
    held.close()
    expect(pathOf('/')).toBe('/')
  })

  it('leads through links that only root could make', () => {
    symlinkSync('media', join(folder, 'short'))
    symlinkSync('../media/./song', join(folder, 'media/up'))
    symlinkSync(join(folder, 'short'), join(folder, 'absolute'))
    expect(pathOf(join(folder, 'short'))).toBe(join(folder, 'media'))
    expect(pathOf(join(folder, 'media/up'))).toBe(join(folder, 'media/song'))
    expect(pathOf(join(folder, 'absolute/song'))).toBe(join(folder, 'media/song'))
  })

  it.each([0o777, 0o775, 0o1777])('leads through no link in a folder of mode %o', (mode) => {
    symlinkSync('/etc', join(folder, 'media/link'))
    chmodSync(join(folder, 'media'), mode)
    expect(() => holdPath(join(folder, 'media/link'))).toThrow(
      'is a link, and others than root may change the folder that it is in',
    )
    expect(() => holdPath(join(folder, 'media/link/passwd'))).toThrow('is a link')
  })

  it('is refused with a circle of links, and if it is not there', () => {
    symlinkSync('b', join(folder, 'a'))
    symlinkSync('a', join(folder, 'b'))
    expect(() => holdPath(join(folder, 'a'))).toThrow('too many links')
    expect(() => holdPath(join(folder, 'missing'))).toThrow(expect.objectContaining({ isMissing: true }))
    expect(() => holdPath(join(folder, 'media/song/x'))).toThrow(
      expect.objectContaining({ isMissing: false }),
    )
  })

  it('stays the same when its name is given to something else', () => {
    const held = holdPath(join(folder, 'media'))
    renameSync(join(folder, 'media'), join(folder, 'former'))
    symlinkSync('/etc', join(folder, 'media'))
    expect(readFileSync(`${held.link}/song`, 'utf8')).toBe('la')
    held.close()
  })

  it('in a container leads through no link at all', () => {
    symlinkSync('media', join(folder, 'link'))
    expect(pathOf('/media/song', `${folder}/`)).toBe('/media/song')
    expect(() => holdPath('/link/song', `${folder}/`)).toThrow('has a link')
  })
})

describe('no container gets', () => {
  const why = (path: string, own: readonly string[] = []) => {
    const held = holdPath(path)
    try {
      return whyForbidden(held, own)
    } finally {
      held.close()
    }
  }

  it.each(['/', '/proc', '/proc/sys', '/sys', '/dev', '/etc', '/var', '/run', '/var/lib'])('%s', (path) => {
    expect(why(path)).toBeTypeOf('string')
  })

  it('the state of the runtime, what is in it, or what it is in, also by another name', () => {
    const state = join(folder, 'media')
    expect(why(state, [state])).toBe(`it is in ${state}, which no container gets`)
    expect(why(join(state, 'song'), [state])).toBe(`it is in ${state}, which no container gets`)
    expect(why(folder, [state])).toBe(`${state} is in it, which no container gets`)
    symlinkSync('media', join(folder, 'short'))
    expect(why(state, [join(folder, 'short')])).toBeTypeOf('string')
    expect(why(join(folder, 'short'), [state])).toBeTypeOf('string')
  })

  it('nothing else is refused', () => {
    mkdirSync(join(folder, 'media2'))
    expect(why(join(folder, 'media2'), [join(folder, 'media')])).toBeUndefined()
    expect(why('/usr/share')).toBeUndefined()
  })
})
