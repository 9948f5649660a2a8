/** What becomes of a folder with a function: bundles, their source maps, and folders of strangers. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Builder, createBuilder } from './bundler/builder.ts'
import { buildLimits } from './bundler/limits.ts'
import { packFolder } from './pack.ts'

let home: string
let folder: string
let builder: Builder
beforeAll(() => {
  builder = createBuilder()
})
afterAll(() => builder.close())
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'selvedge-pack-'))
  folder = join(home, 'own')
  mkdirSync(folder)
})
afterEach(() => rmSync(home, { recursive: true }))

const write = (files: Record<string, string>, under = folder) => {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(under, path)), { recursive: true })
    writeFileSync(join(under, path), content)
  }
}
/** The file in the image. */
async function codeOf(): Promise<string> {
  const { archive } = await packFolder(folder, { builder })
  const layer = execFileSync('tar', ['xOf', '-', '--wildcards', '*/layer.tar'], { input: archive })
  return execFileSync('tar', ['xOf', '-'], { input: layer, encoding: 'utf8', maxBuffer: 64e6 })
}
const failure = async (own: Builder = builder): Promise<string> =>
  packFolder(folder, { builder: own }).then(
    () => 'it was packed',
    (cause: Error) => cause.message,
  )
const worker = (code: string): string => `export default { fetch() { return new Response(${code}) } }`

describe('the image of a function in TypeScript', () => {
  it('contains what it imports, in one ES module without imports', async () => {
    write({
      'index.ts': `import { greet } from './greet.ts'
        import say from 'say'
        import type { Absent } from 'absent'
        interface A { a: Absent }
        ${worker('greet(say) satisfies string')}`,
      'greet.ts': 'export const greet = (name: string): string => "hello " + name',
      'package.json': '{ "name": "@me/mine", "version": "2.0.0" }',
      'node_modules/say/package.json': '{ "name": "say", "main": "say.js" }',
      'node_modules/say/say.js': 'module.exports = process.env.NODE_ENV + " world"',
    })
    const code = await codeOf()
    expect(code).not.toMatch(/^import /m)
    const module = await import(`data:text/javascript,${encodeURIComponent(code)}`)
    expect(await module.default.fetch().text()).toBe('hello production world')
    expect(await packFolder(folder, { builder })).toMatchObject({ name: 'me-mine', version: '2.0.0' })
  })

  it.each([
    [
      'TypeScript',
      'index.ts',
      'import { a } from "./a.ts"; mimikModule.exports = (c, q, r: any) => r.end(a)',
    ],
    ['CommonJS', 'index.js', 'const { a } = require("./a.ts"); mimikModule.exports = (c, q, r) => r.end(a)'],
    [
      'exports for tests',
      'index.ts',
      'import { a } from "./a.ts"; export const b = (c, q, r) => r.end(a); mimikModule.exports = b',
    ],
  ])('is a script for a handler: %s', async (_, name, source) => {
    write({ [name]: source, 'a.ts': 'export const a: string = "a"', 'package.json': '{}' })
    const mimikModule: { exports?: (c: unknown, q: unknown, r: { end: (text: string) => void }) => void } = {}
    runInNewContext(await codeOf(), { mimikModule })
    const answers: string[] = []
    mimikModule.exports?.({}, {}, { end: (text) => answers.push(text) })
    expect(answers).toEqual(['a'])
  })

  const oldCode = `const { inherits } = require('util'); const Events = require('node:events'); class Own extends Events {}
    module.exports = () => typeof inherits + new Own().listenerCount('x') + typeof require('process').env`

  it('may import modules of Node.js, by both names, also from CommonJS', async () => {
    write({
      'index.ts': `import { Buffer } from 'buffer'; import * as path from 'node:path'; import own, { env } from 'process'
        import old from './old.cjs'
        ${worker('Buffer.from("x").toString("hex") + path.join("a", "b") + old() + (own.env === env)')}`,
      'old.cjs': oldCode,
    })
    const { default: made } = await import(`data:text/javascript,${encodeURIComponent(await codeOf())}`)
    expect(await made.fetch().text()).toBe('78a/bfunction0objecttrue')
  })

  it('may import modules of Node.js in a handler', async () => {
    write({
      'index.js': `import { Buffer } from 'node:buffer'; import { env } from 'node:process'; import old from './old.cjs'
        mimikModule.exports = (c, q, r) => r.end(Buffer.from('x').toString('hex') + old() + typeof env)`,
      'old.cjs': oldCode,
      'package.json': '{}',
    })
    const mimikModule: { exports?: (c: unknown, q: unknown, r: { end: (text: string) => void }) => void } = {}
    runInNewContext(await codeOf(), { mimikModule, process })
    const answers: string[] = []
    mimikModule.exports?.({}, {}, { end: (text) => answers.push(text) })
    expect(answers).toEqual(['78function0objectobject'])
  })

  const ran = async () => {
    const { default: made } = await import(`data:text/javascript,${encodeURIComponent(await codeOf())}`)
    return (await made.fetch()).text()
  }

  it('may import packages that go without what is not installed, and get the failure to catch', async () => {
    write({
      'index.ts': `import found from 'tries'\n${worker('found')}`,
      'node_modules/tries/index.js': `let found = 'nothing'
        try { found = require('absent/part') } catch (cause) { found = cause.code + ' ' + cause.message }
        module.exports = found`,
    })
    expect(await ran()).toBe("MODULE_NOT_FOUND Cannot find module 'absent/part'")
  })

  const binding = `const load = require('node-gyp-build'); const found = load(__dirname); const { open } = found
    module.exports = () => { try { open() } catch (cause) { return cause.name + ': ' + cause.message } }`

  it('may import packages with native code deep in what they depend on: it fails when it is used', async () => {
    write({
      'index.ts': `import outer from 'outer'\n${worker('outer()')}`,
      'node_modules/outer/index.js': `module.exports = require('inner')`,
      'node_modules/inner/index.js': binding.replace('__dirname', '"."'),
    })
    expect(await ran()).toBe('NativeCodeError: node-gyp-build loads native code, which functions cannot run')
  })

  it.each([
    ['node_modules/inner/index.js', binding],
    ['node_modules/inner/index.js', 'module.exports = require("./code.node")'],
    ['node_modules/inner/index.js', 'module.exports = require("bindings")("code")'],
  ])('may not import a package of native code', async (path, source) => {
    write({
      'index.ts': `import inner from 'inner'\n${worker('inner()')}`,
      [path]: source,
      'node_modules/inner/code.node': '\x7fELF',
    })
    expect(await failure()).toMatch(/(?:inner|code\.node) is or loads native code/)
  })

  it('gets the way of a package for require where it requires, and that for import where it imports', async () => {
    write({
      'index.ts': `import a from 'both'; import old from './old.cjs'\n${worker('a + old')}`,
      'old.cjs': `module.exports = require('both')`,
      'node_modules/both/package.json': JSON.stringify({
        exports: { import: './module.mjs', require: './common.cjs' },
      }),
      'node_modules/both/module.mjs': 'export default "imported "',
      'node_modules/both/common.cjs': 'module.exports = "required"',
    })
    expect(await ran()).toBe('imported required')
  })

  const variants = (browser: string, node: string) => ({
    'node_modules/two/package.json': '{ "exports": { "browser": "./browser.js", "default": "./node.js" } }',
    'node_modules/two/browser.js': browser,
    'node_modules/two/node.js': node,
  })

  it.each([
    ['lacks an export', 'export const other = 1', '{}'],
    ['imports a package that is not installed', 'export * from "two-for-browsers"', '{}'],
    [
      'fails when it is loaded, if package.json lists it',
      'throw new Error("no browser")',
      '{ "selvedge": { "nodePackages": ["two"] } }',
    ],
  ])('gets a package as Node.js finds it where its variant for browsers %s', async (_, browser, own) => {
    const node = 'const { EOL } = require("node:os"); exports.end = EOL'
    write({
      'index.ts': `import { end } from 'two'\n${worker('JSON.stringify(end)')}`,
      'package.json': own,
      ...variants(browser, node),
    })
    expect(await ran()).toBe('"\\n"')
  })

  it('is refused where no variant of a package has what it imports', async () => {
    write({
      'index.ts': `import { end } from 'two'\n${worker('end')}`,
      ...variants('export * from "absent"', 'import "missing"'),
    })
    expect(await failure()).toMatch(/^node_modules\/two\/node\.js:1:\d+: cannot import "missing"/)
    write({ 'package.json': '{ "selvedge": { "nodePackages": "two" } }' })
    expect(await failure()).toBe('package.json: selvedge.nodePackages must be a list of at most 100 names')
  })

  it('has no way to modules of Node.js if it requires no such module', async () => {
    write({ 'index.ts': `import { a } from './a.ts'\n${worker('a')}`, 'a.ts': 'export const a = "b"' })
    expect(await codeOf()).not.toMatch(/getBuiltinModule|require/)
  })

  it('has a map with names and places, and neither source text nor paths of this machine', async () => {
    write({
      'src/index.ts': `// a secret comment\n\n${worker('fail()')}\nfunction fail(): string { throw new Error() }`,
    })
    const code = await codeOf()
    const map = JSON.parse(Buffer.from(code.split('base64,')[1]!, 'base64').toString())
    expect(map.sources).toEqual(['src/index.ts'])
    expect(map).not.toHaveProperty('sourcesContent')
    expect(code + JSON.stringify(map)).not.toContain(home)
  })

  it('is the same for the same files in a folder of the same name, byte for byte', async () => {
    const files = { 'index.ts': `import { a } from './a.ts'\n${worker('a')}`, 'a.ts': 'export const a = "b"' }
    write(files)
    const { digest } = await packFolder(folder, { builder, name: 'same' })
    folder = join(home, 'other/own')
    write(files)
    expect((await packFolder(folder, { name: 'same' })).digest).toBe(digest)
  })

  it('leaves an index.js without imports as it is, also where there is no bundler', async () => {
    const source = 'mimikModule.exports = (context, request, response) => response.end(1)'
    write({ 'index.js': source, 'package.json': '{ "dependencies": { "x": "1.0.0" } }' })
    const use = () => Promise.reject(new Error('used'))
    const unused: Builder = { bundle: use, transpile: use, close: () => undefined }
    expect((await packFolder(folder, { builder: unused })).modules).toEqual([])
    expect(await codeOf()).toBe(source)
  })

  it('begins with the main of package.json, if that exists', async () => {
    write({
      'a/b.ts': worker('"main"'),
      'index.ts': worker('"index"'),
      'package.json': '{ "main": "./a/b.ts" }',
    })
    expect(await codeOf()).toContain('"main"')
    write({ 'package.json': '{ "main": "dist/index.js" }' })
    expect(await codeOf()).toContain('"index"')
  })

  it('may import circularly, JSON, text, and packages of the workspace', async () => {
    write(
      {
        'package.json': '{ "workspaces": ["*"] }',
        'shared/package.json': '{ "name": "shared", "main": "a.ts" }',
      },
      home,
    )
    write({ 'shared/a.ts': 'export { c } from "./c.ts"', 'shared/c.ts': 'export const c = "shared"' }, home)
    mkdirSync(join(home, 'node_modules'))
    symlinkSync('../shared', join(home, 'node_modules/shared'))
    write({
      'index.ts': `import { a } from './a.ts'; import { c } from 'shared'; import n from './n.json'; import t from './t.txt'
        export const b = 1; ${worker('a() + c + n.n + t')}`,
      'a.ts': 'import { b } from "./index.ts"; export const a = () => String(b)',
      'n.json': '{ "n": 2 }',
      't.txt': 'text',
    })
    const { default: made } = await import(`data:text/javascript,${encodeURIComponent(await codeOf())}`)
    expect(await made.fetch().text()).toBe('1shared2text')
  })
})

describe('a program for node:http', () => {
  it.each([
    ['of modules', "import http from 'node:http'\nhttp.createServer().listen(3000)"],
    ['that is connected first', "import http from 'http'\nawait null\nhttp.createServer().listen(3000)"],
    ['of CommonJS', "require('http').createServer().listen(3000)"],
    ['that listens in a package', "import start from 'dep'\nstart()"],
  ])('%s needs no export', async (_, source) => {
    write({
      'index.ts': source,
      'node_modules/dep/index.js': "module.exports = () => require('http').createServer().listen(3000)",
    })
    expect(await codeOf()).toMatch(/node:http[\s\S]*listen\(3e?3?0*\)/)
  })

  it('that never listens is a function without an entry', async () => {
    write({ 'index.ts': "import http from 'node:http'\nhttp.createServer()" })
    expect(await failure()).toMatch(/the function has no entry: .* or let an http\.Server listen/)
  })
})

describe('a mistake is shown with its file, line and column, and the lines around it', () => {
  it.each([
    [
      'syntax',
      'export default {\n  fetch() {\n    retur new Response()\n  }\n}',
      /^index\.ts:3:10: Expected a semicolon[^\n]*\n {2}1 \| .*\n.*\n> 3 \| {5}retur new Response\(\)\n {4}\| {10}\^\n {2}4 \|/,
    ],
    [
      'no module of Node.js',
      `import fs from 'node:absent'\n${worker('fs')}`,
      /^index\.ts:1:16: cannot import "node:absent": Node\.js has no module "node:absent"/,
    ],
    [
      'a package that loads native code',
      `import load from 'node-gyp-build'\n${worker('load()')}`,
      /^index\.ts:1:18: cannot import "node-gyp-build": node-gyp-build is or loads native code/,
    ],
    [
      'no such package',
      `import a from 'absent'\n${worker('a')}`,
      /^index\.ts:1:15: cannot import "absent": there is no such package: install it with npm/,
    ],
    [
      'no such file',
      `import a from './absent.ts'\n${worker('a')}`,
      /^index\.ts:1:15: cannot import "\.\/absent\.ts": there is no such file/,
    ],
    [
      'no such export',
      `import { a } from './b.ts'\n${worker('a')}`,
      /^index\.ts:1:10: "a" is not exported by "b\.ts"/,
    ],
    [
      'neither worker nor handler',
      'export const a = 1',
      /^index\.ts: the function has no entry: export a worker/,
    ],
  ])('%s', async (_, source, message) => {
    write({ 'index.ts': source, 'b.ts': 'export {}' })
    expect(await failure()).toMatch(message)
  })

  it('of a dependency too', async () => {
    write({ 'index.ts': `import 'dep'\n${worker('1')}`, 'node_modules/dep/index.js': 'let a = 1\nlet a = 2' })
    expect(await failure()).toMatch(/^node_modules\/dep\/index\.js:\d:5: .*\n/)
  })
})

describe('a folder of a stranger', () => {
  const secret = '{ "secret": "of the user" }'
  beforeEach(() => write({ 'secret.json': secret, 'secret.ts': 'export default "of the user"' }, home))

  it.each([
    ['a relative path out of it', '../secret.json', /leads to .*secret\.json, outside of the folder/],
    ['node_modules of another folder', '../other/node_modules/p/secret.json', /outside of the folder/],
    ['a link to a file', './link.json', /outside of the folder/],
    ['a link to a folder', './up/secret.json', /outside of the folder/],
    ['a link in node_modules', 'linked/secret.json', /outside of the folder/],
    ['a path of tsconfig.json', 'mapped/secret.json', /outside of the folder/],
    ['an absolute path', '/etc/hostname', /absolute paths are not allowed/],
    ['file:', 'file:///etc/hostname', /file: imports are not allowed/],
    ['http:', 'http://127.0.0.1:9/a.js', /http: imports are not allowed/],
    ['https:', 'https://127.0.0.1:9/a.js', /https: imports are not allowed/],
    ['data:', 'data:text/javascript,export default 1', /data: imports are not allowed/],
    ['npm:', 'npm:say', /npm: imports are not allowed/],
    ['a FIFO', './pipe.ts', /there is no such file/],
    ['an endless device', './zero.ts', /there is no such file/],
    ['a folder', './empty', /no such file|is not a file/],
  ])('gets no file from outside: %s', async (_, specifier, message) => {
    write({ 'other/node_modules/p/secret.json': secret }, home)
    symlinkSync('../secret.json', join(folder, 'link.json'))
    symlinkSync('..', join(folder, 'up'))
    mkdirSync(join(folder, 'node_modules'))
    mkdirSync(join(folder, 'empty'))
    symlinkSync(home, join(folder, 'node_modules/linked'))
    symlinkSync('/dev/zero', join(folder, 'zero.ts'))
    execFileSync('mkfifo', [join(folder, 'pipe.ts')])
    write({
      'tsconfig.json': JSON.stringify({ compilerOptions: { paths: { 'mapped/*': ['../*'] } } }),
      'index.ts': `import a from '${specifier}'\n${worker('a')}`,
    })
    const said = await failure()
    expect(said).toMatch(message)
    expect(said).not.toContain('of the user')
  })

  it.each([
    ['a dynamic import', "export default { fetch: () => import('../secret.ts') }"],
    ['a require', "module.exports = { fetch: () => require('../secret.ts') }"],
    ['a re-export', "export * from '../secret.ts'; export default { fetch() {} }"],
    ['a URL of a module', "export default { fetch: () => new URL('../secret.ts', import.meta.url) }"],
  ])('gets no file with %s either', async (_, source) => {
    write({ 'index.ts': source })
    const said = await codeOf().catch((cause: Error) => cause.message)
    expect(said).not.toContain('of the user')
  })

  it('gets no file as its entry', async () => {
    symlinkSync('../secret.ts', join(folder, 'index.ts'))
    expect(await failure()).toMatch(/leads to .*secret\.ts, which is no file of the folder/)
  })

  it.each([
    ['../secret.ts', /"main" of/],
    ['/etc/hostname', /"main" of/],
    ['a/../../secret.ts', /"main" of/],
    ['file:///etc/hostname', /"main" of/],
    ['index.ts\u0000', /"main" of/],
    [`${'a/'.repeat(1000)}index.ts`, /"main" of/],
    [{ index: 'ts' }, /neither index\.ts/],
    [['index.ts'], /neither index\.ts/],
    ['a', /neither index\.ts/],
    ['link.ts', /leads to .*secret\.ts, which is no file/],
  ])('cannot name another file in package.json: main %j', async (main, message) => {
    mkdirSync(join(folder, 'a'))
    symlinkSync('../secret.ts', join(folder, 'link.ts'))
    write({ 'package.json': JSON.stringify({ main }) })
    expect(await failure()).toMatch(message)
  })

  it('runs no code when it is packed', async () => {
    const ran = join(home, 'ran')
    const code = `require('node:fs').writeFileSync(${JSON.stringify(ran)}, '')`
    const names = 'rolldown vite rollup postcss babel webpack eslint tailwind vitest'.split(' ')
    write(
      Object.fromEntries(
        names.flatMap((each) => ['js', 'cjs', 'ts'].map((end) => [`${each}.config.${end}`, code])),
      ),
    )
    write({
      'index.ts': worker('1'),
      '.babelrc.js': code,
      '.pnpmfile.cjs': code,
      'package.json': `{ "type": "commonjs", "scripts": { "prepare": "touch ${ran}", "build": "touch ${ran}" } }`,
      'node_modules/rolldown/package.json': '{ "name": "rolldown", "main": "a.cjs" }',
      'node_modules/rolldown/a.cjs': code,
    })
    expect(await codeOf()).toContain('new Response(1)')
    expect(existsSync(ran)).toBe(false)
  })

  it('is refused when it has too many modules, or too large ones', async () => {
    const small = createBuilder({ ...buildLimits, modules: 20, sourceBytes: 100_000 })
    try {
      write({ 'index.ts': `import './m0.ts'\n${worker('1')}` })
      for (let at = 0; at < 30; at++) write({ [`m${at}.ts`]: `import './m${at + 1}.ts'; globalThis.x` })
      write({ 'm30.ts': '' })
      expect(await failure(small)).toMatch(/more than 20 modules/)
      write({ 'm0.ts': `export const a = '${'x'.repeat(100_000)}'` })
      expect(await failure(small)).toMatch(/more than 100000 bytes/)
    } finally {
      small.close()
    }
  })

  it('is stopped when its build needs too much time', async () => {
    const short = createBuilder({ ...buildLimits, timeoutMs: 1 })
    write({ 'index.ts': worker('1') })
    expect(await failure(short)).toMatch(/the build was stopped after 0.001 s/)
    short.close()
  })

  it('crashes at most its own build', async () => {
    write({ 'index.ts': `export default ${'('.repeat(300_000)}1${')'.repeat(300_000)}` })
    expect(await failure()).toMatch(/the build exited with SIG/)
    write({ 'index.ts': worker('1') })
    expect((await packFolder(folder, { builder })).modules).toHaveLength(1)
  })

  it.each(['tsconfig.json', 'node_modules/dep/package.json'])('cannot read an endless %s', async (path) => {
    const small = createBuilder({ ...buildLimits, memoryBytes: 300 * 1024 * 1024 })
    mkdirSync(join(folder, 'node_modules/dep'), { recursive: true })
    symlinkSync('/dev/zero', join(folder, path))
    write({ 'index.ts': `import 'dep'\n${worker('1')}`, 'node_modules/dep/index.js': '1' })
    expect(await failure(small)).toMatch(/it was packed|the build needs more than 300 MiB/)
    small.close()
  })

  it('is stopped when its build needs too much memory', async () => {
    const small = createBuilder({ ...buildLimits, memoryBytes: 150 * 1024 * 1024 })
    try {
      const big = `export const a = [${'{ a: 1, b: [2, 3] }, '.repeat(400_000)}]`
      write({ 'index.ts': `import { a } from './a.ts'; ${worker('JSON.stringify(a)')}`, 'a.ts': big })
      expect(await failure(small)).toMatch(/the build needs more than 150 MiB of memory/)
    } finally {
      small.close()
    }
  })
})
