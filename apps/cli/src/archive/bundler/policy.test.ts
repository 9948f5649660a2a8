import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { createPolicy, native } from './policy.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
  write('own/index.ts')
})
afterEach(() => folder.remove())

const at = (path: string) => join(folder.path, path)
function write(path: string, content = ''): void {
  mkdirSync(dirname(at(path)), { recursive: true })
  writeFileSync(at(path), content)
}
const policy = () => createPolicy(at('own'))
const refuseFile = (path: string, specifier = './x') => policy().refuseFile(at(path), specifier)
const leads = (path: string) =>
  `it leads to ${at(path)}, outside of the folder. Copy the file into the folder, or make it a package of the workspace.`

describe('a specifier', () => {
  it.each(['./a.ts', '../a.ts', 'hono', '@scope/a', 'fs', 'a:b', 'C'])('may be %s', (specifier) => {
    expect(policy().refuse(specifier)).toBeUndefined()
  })

  it.each([
    'https://host/a.js',
    'HTTP://host',
    'data:text/javascript,1',
    'npm:a',
    'git+ssh://host',
    'file:///a',
  ])('fetches nothing: %s', (specifier) => {
    const scheme = specifier.slice(0, specifier.indexOf(':') + 1)
    expect(policy().refuse(specifier)).toMatch(
      new RegExp(`^${scheme.replace('+', '\\+')} imports are not allowed`),
    )
  })

  it('is no absolute path', () => {
    expect(policy().refuse('/etc/passwd')).toMatch(/^absolute paths are not allowed/)
  })

  it('is no module that Node.js does not have', () => {
    expect(policy().refuse('node:absent')).toBe('Node.js has no module "node:absent".')
  })
})

it('native code is named as such', () => {
  expect(native('code.node')).toMatch(/^code\.node is or loads native code, which functions cannot run/)
})

describe('a file', () => {
  it('of the user is not one of the folder for a path with "..", as an import with two queries has it', () => {
    write('secret/key.js')
    expect(refuseFile('own/../secret/key.js')).toBe(leads('secret/key.js'))
    const path = `${at('secret/key.js')}?/../../own/index.ts`
    expect(policy().refuseFile(path, './link.js?/../../own/index.ts?')).toMatch(/^ENO/)
  })

  it('is no native code', () => {
    write('own/lib/a.node')
    expect(refuseFile('own/lib/a.node')).toMatch(/^lib\/a\.node is or loads native code/)
  })

  it('is one of the folder', () => {
    write('own/lib/a.ts')
    expect(refuseFile('own/lib/a.ts')).toBeUndefined()
  })

  it.each(['other/a.ts', 'own-2/a.ts', 'a.ts'])('is not one of another folder: %s', (path) => {
    write(path)
    expect(refuseFile(path)).toBe(leads(path))
    expect(refuseFile(path, 'pkg')).toBe(leads(path))
  })

  it('is not a link of the folder to another one', () => {
    write('secret')
    symlinkSync(at('secret'), at('own/link.ts'))
    expect(refuseFile('own/link.ts')).toBe(leads('secret'))
  })

  it('is no folder, and is there', () => {
    mkdirSync(at('own/lib'))
    expect(refuseFile('own/lib')).toBe('lib is not a file')
    expect(refuseFile('own/missing.ts')).toMatch(/ENOENT/)
  })

  it('may be one of an installed package, of this folder or of one above it', () => {
    for (const path of ['own/node_modules/a/i.js', 'node_modules/a/i.js']) {
      write(path)
      expect(refuseFile(path, 'a')).toBeUndefined()
    }
  })

  it('is not from a package that is installed elsewhere', () => {
    write('other/node_modules/a/i.js')
    expect(refuseFile('other/node_modules/a/i.js', 'a')).toBe(leads('other/node_modules/a/i.js'))
  })
})

describe('a package of the workspace', () => {
  beforeEach(() => {
    write('lib/package.json', '{}')
    write('lib/src/a.ts')
    write('lib/b.ts')
    write('loose.ts')
  })

  it.each([
    ['package.json', '{"workspaces":[]}'],
    ['pnpm-workspace.yaml', ''],
  ])('may be imported by its name, if %s declares the workspace', (name, content) => {
    write(name, content)
    const { refuseFile: refuse } = policy()
    expect(refuse(at('lib/src/a.ts'), 'lib')).toBeUndefined()
    // From there on, its own files may import each other.
    expect(refuse(at('lib/b.ts'), '../b.ts')).toBeUndefined()
  })

  it.each(['./x', '../lib/src/a.ts', '.', '..'])('is not imported by a path: %s', (specifier) => {
    write('package.json', '{"workspaces":[]}')
    expect(refuseFile('lib/src/a.ts', specifier)).toBe(leads('lib/src/a.ts'))
  })

  it.each(['.hidden', '...x', '..x'])('may have a name with dots: %s', (specifier) => {
    write('package.json', '{"workspaces":[]}')
    expect(refuseFile('lib/src/a.ts', specifier)).toBeUndefined()
  })

  it.each(['{}', '{', '[]', 'null'])('needs a workspace, which %s does not declare', (content) => {
    write('package.json', content)
    expect(refuseFile('lib/src/a.ts', 'lib')).toBe(leads('lib/src/a.ts'))
  })

  it('has a package.json, and is not the workspace itself', () => {
    write('package.json', '{"workspaces":[]}')
    expect(refuseFile('loose.ts', 'loose')).toBe(leads('loose.ts'))
  })

  it('may be in the outermost of several workspaces', () => {
    write('package.json', '{"workspaces":[]}')
    write('inner/package.json', '{"workspaces":[]}')
    write('inner/own/index.ts')
    expect(createPolicy(at('inner/own')).refuseFile(at('lib/src/a.ts'), 'lib')).toBeUndefined()
  })

  it('is one of at most 1000', () => {
    write('package.json', '{"workspaces":[]}')
    const { refuseFile: refuse } = policy()
    for (let each = 0; each < 1000; each++) {
      write(`p${each}/package.json`)
      write(`p${each}/a.ts`)
      expect(refuse(at(`p${each}/a.ts`), 'p')).toBeUndefined()
    }
    expect(refuse(at('lib/b.ts'), 'lib')).toBe('more than 1000 packages of the workspace are imported')
    expect(refuse(at('p3/a.ts'), 'p')).toBeUndefined()
  })
})
