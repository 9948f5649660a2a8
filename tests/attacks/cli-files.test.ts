/** A folder of a stranger wants `image pack` to write to, or read from, another place. */
import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runHere } from '../harness/cli-here.ts'
import { temporaryFolder } from '../harness/processes.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let victim: string
let clone: string
const pack = (...more: string[]) => runHere(clone, ['image', 'pack', '.', ...more])

beforeEach(async () => {
  folder = await temporaryFolder()
  victim = join(folder.path, 'victim')
  clone = join(folder.path, 'clone')
  writeFileSync(victim, 'of the user')
  mkdirSync(clone)
  writeFileSync(join(clone, 'index.js'), 'export default {}')
})
afterEach(() => folder.remove())

const untouched = () => {
  expect(readFileSync(victim, 'utf8')).toBe('of the user')
  expect(readdirSync(folder.path).sort()).toEqual(['clone', 'victim'])
}

describe('image pack of a folder of a stranger', () => {
  it.each([[], ['-o', 'named.tar']])(
    'does not write through a symbolic link, options %j',
    async (...options) => {
      for (const name of ['clone-1.0.0.tar', 'named.tar']) symlinkSync('../victim', join(clone, name))
      const ran = await pack(...options)
      expect(ran).toMatchObject({ code: 2, out: '', errors: expect.stringContaining('is a symbolic link') })
      untouched()
    },
  )

  it.each(['x/../../over', '../over', '1.0.0/x', '', '.', 'a b', '\u001b]0;x\u0007'])(
    'does not write to the path that a version of %j leads to',
    async (version) => {
      writeFileSync(join(clone, 'package.json'), JSON.stringify({ name: 'f', version }))
      const ran = await pack()
      if (version === '') expect(ran.code).toBe(0)
      else
        expect(ran).toMatchObject({
          code: 2,
          out: '',
          errors: expect.stringContaining('the version of the image'),
        })
      expect(ran.errors).not.toContain('\u001b')
      untouched()
    },
  )

  it.each([
    ['--image-version', 'a/b'],
    ['--name', '../over'],
    ['--name', '-x'],
  ])('refuses %s %s', async (...options) => {
    expect((await pack(...options)).code).toBe(2)
    untouched()
  })

  it.each(['index.js', 'package.json'])(
    'does not pack a file of the user through a link named %s',
    async (name) => {
      const inside = join(folder.path, 'inside')
      mkdirSync(inside)
      writeFileSync(join(inside, 'index.js'), 'export default {}')
      symlinkSync(victim, join(inside, name === 'index.js' ? 'index.wasm' : name))
      const from = name === 'index.js' ? join(folder.path, 'linked') : inside
      if (name === 'index.js') {
        mkdirSync(from)
        symlinkSync(victim, join(from, 'index.js'))
      }
      const ran = await runHere(clone, ['image', 'pack', from])
      expect(ran).toMatchObject({ code: 2, errors: expect.stringContaining('is no file of the folder') })
      expect(readdirSync(clone)).toEqual(['index.js'])
    },
  )

  it('does not replace what is no file, such as a device or a pipe', async () => {
    const pipe = join(clone, 'pipe')
    execFileSync('mkfifo', [pipe])
    expect(await pack('-o', pipe)).toMatchObject({ code: 2, errors: expect.stringContaining('is no file') })
    expect(lstatSync(pipe).isFIFO()).toBe(true)
  })

  it.each(['{', '[1]', 'null', '"x"', '{"name":{},"version":[]}'])(
    'reads a package.json of %s',
    async (text) => {
      writeFileSync(join(clone, 'package.json'), text)
      const ran = await pack()
      expect(ran.code).toBe(text === '{' ? 2 : 0)
      expect(ran.errors).not.toMatch(/\n +at /)
    },
  )

  it('replaces its own archive as a whole', async () => {
    expect((await pack()).code).toBe(0)
    const first = readFileSync(join(clone, 'clone-1.0.0.tar'))
    expect((await pack()).code).toBe(0)
    expect(readFileSync(join(clone, 'clone-1.0.0.tar')).equals(first)).toBe(true)
    expect(readdirSync(clone).sort()).toEqual(['clone-1.0.0.tar', 'index.js'])
  })
})
