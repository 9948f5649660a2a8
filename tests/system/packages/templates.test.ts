/** The projects of "selvedge init", as a user has them: with what a registry has in `node_modules`, and nothing of this repository. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packNpmPackages } from '../../../packaging/npm/pack.ts'
import { cliPath } from '../../harness/cli.ts'
import { needs } from '../../harness/installed.ts'
import { root } from '../../harness/processes.ts'
import { toolPath } from './registry.ts'

const kinds = ['function', 'oci', 'wasm', 'worker'] as const

let folder: string
const at = (...path: string[]): string => join(folder, ...path)
/** The command line as npm installs it. */
const npmCli = (): string => at('cli/node_modules/selvedge/bin/selvedge.cjs')
const run = (cwd: string, ...args: string[]) => {
  const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: folder }
  const { status, stdout, stderr } = spawnSync(args[0]!, args.slice(1), { cwd, env, encoding: 'utf8' })
  return { status, out: stdout + stderr }
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-templates-'))
  execFileSync(process.execPath, [join(root, 'scripts/libraries.mjs')])
  execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs')])
  for (const each of ['tarballs', 'work']) mkdirSync(at(each))
  const tarballs = packNpmPackages(at('tarballs'), at('work'))
  mkdirSync(at('cli/node_modules/selvedge'), { recursive: true })
  const tarball = at('tarballs', tarballs.find((each) => each.startsWith('selvedge-0'))!)
  execFileSync('tar', ['xzf', tarball, '-C', at('cli/node_modules/selvedge'), '--strip-components=1'])
  // The folder of the projects: packages are found in the node_modules above them.
  mkdirSync(at('node_modules/@types'), { recursive: true })
  for (const each of ['typescript', '@types/node', 'undici-types'])
    symlinkSync(join(root, 'node_modules', each), at('node_modules', each))
  for (const each of kinds) execFileSync(process.execPath, [npmCli(), 'init', each, at(`my-${each}`)])
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const projectOf = (kind: string) => JSON.parse(readFileSync(at(`my-${kind}`, 'package.json'), 'utf8'))

describe.each(kinds)('the project of init %s', (kind) => {
  it('has the name of its folder, a README, a test, and versions that are those of this project', () => {
    const { name, scripts, devDependencies = {} } = projectOf(kind)
    expect(name).toBe(`my-${kind}`)
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['dev', 'test']))
    for (const each of ['README.md', '.gitignore']) expect(existsSync(at(`my-${kind}`, each))).toBe(true)
    for (const [dependency, version] of Object.entries(devDependencies)) {
      const own = join(root, 'node_modules', dependency, 'package.json')
      if (existsSync(own))
        expect(`${dependency}@${version}`).toBe(
          `${dependency}@${JSON.parse(readFileSync(own, 'utf8')).version}`,
        )
    }
  })

  it('passes its own test without a device', needs(...(kind === 'oci' ? (['busybox'] as const) : [])), () => {
    const { status, out } = run(at(`my-${kind}`), 'npm', 'test')
    expect(out).toMatch(/pass [1-9]\d*\n.*fail 0\b/)
    expect(status).toBe(0)
  })
})

describe.each(['function', 'worker'])('the project of init %s', (kind) => {
  it('passes the type check', () => {
    expect(run(at(`my-${kind}`), 'npm', 'run', 'typecheck')).toMatchObject({ status: 0 })
  })

  it('is bundled without its packages installed', () => {
    expect(
      run(folder, process.execPath, cliPath, 'image', 'pack', at(`my-${kind}`), '-o', at(`${kind}.tar`)),
    ).toMatchObject({ status: 0 })
  })
})

it('the type check finds a wrong use of the API', () => {
  writeFileSync(
    at('my-worker/wrong.ts'),
    `import type { Handler, Worker } from './selvedge/index.ts'
    export const a: Handler = (context, request, response) => response.end(context.storage.getItm('a'))
    export const b: Worker = { fetch: () => 'text' }
    mimikModule.exports = 1`,
  )
  const { status, out } = run(at('my-worker'), 'npm', 'run', 'typecheck')
  rmSync(at('my-worker/wrong.ts'))
  expect(status).not.toBe(0)
  for (const line of [2, 3, 4]) expect(out).toContain(`wrong.ts(${line},`)
})

it('the command line of the npm package without rolldown packs what needs no bundler, and explains the rest', () => {
  const cli = npmCli()
  const pack = (kind: string) =>
    run(folder, process.execPath, cli, 'image', 'pack', at(`my-${kind}`), '-o', at('a.tar'))
  expect(pack('wasm')).toMatchObject({ status: 0 })
  const { status, out } = pack('worker')
  expect(status).toBe(2)
  expect(out).toMatch(
    /TypeScript and imports need the bundler "rolldown", which this installation does not have/,
  )
  expect(out).toMatch(/hint: .*command line of a clone/)
})

it('the WASM example is what its source compiles to', needs('package tools'), () => {
  execFileSync(process.execPath, [
    toolPath('wabt/bin/wat2wasm'),
    at('my-wasm/index.wat'),
    '-o',
    at('own.wasm'),
  ])
  expect(readFileSync(at('own.wasm')).equals(readFileSync(at('my-wasm/index.wasm')))).toBe(true)
})
