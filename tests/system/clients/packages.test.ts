/** The published libraries as others get them: in this clone by their names, and from their packed tarballs. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root, temporaryFolder } from '../../harness/processes.ts'

const npm = (folder: string, ...args: string[]) =>
  execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

/** Every way into a library, by the name that a program imports. */
const entriesOf = (library: string): string[] => {
  const { name, exports } = JSON.parse(readFileSync(join(root, 'packages', library, 'package.json'), 'utf8'))
  return Object.keys(exports).map((entry) => name + entry.slice(1))
}
const entries = [...entriesOf('protocol'), ...entriesOf('client')]

/** Imports every entry in plain Node, without a condition, and counts what each exports. */
const importAll = (folder: string): Record<string, number> =>
  JSON.parse(
    execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `const counts = {}
        for (const name of ${JSON.stringify(entries)}) counts[name] = Object.keys(await import(name)).length
        console.log(JSON.stringify(counts))`,
      ],
      { cwd: folder, encoding: 'utf8', env: { PATH: process.env.PATH } },
    ),
  )

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  folder = await temporaryFolder()
  execFileSync(process.execPath, [join(root, 'scripts/libraries.mjs')])
})
afterAll(() => folder.remove())

it('every entry can be imported in the clone', () => {
  const counts = importAll(root)
  expect(Object.keys(counts)).toEqual(entries)
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(0)
})

describe('the packed tarballs', () => {
  beforeAll(() => {
    const tarballs = join(folder.path, 'tarballs')
    mkdirSync(tarballs)
    // The one dependency comes from this clone as well: nothing is fetched.
    for (const each of ['packages/protocol', 'packages/client', 'node_modules/zod'])
      npm(root, 'pack', join(root, each), '--pack-destination', tarballs)
    const paths = readdirSync(tarballs).map((name) => join(tarballs, name))
    expect(paths).toHaveLength(3)
    writeFileSync(join(folder.path, 'package.json'), '{ "name": "user", "private": true, "type": "module" }')
    npm(folder.path, 'install', '--offline', '--no-audit', '--no-fund', ...paths)
  })

  it('install into an empty folder, where every entry can be imported', () => {
    expect(importAll(folder.path)).toEqual(importAll(root))
  })

  it('have types that a strict program compiles against', () => {
    const all = entries.map((name, at) => `import * as entry${at} from '${name}'\nvoid entry${at}`)
    const program = `${all.join('\n')}
      import { createRuntimeClient, RpcFailure } from '@selvedge/client'
      import { createAccessTokenVerifier } from '@selvedge/client/backend'
      import { createNodeFetch } from '@selvedge/client/node'
      const runtime = createRuntimeClient({ url: 'http://127.0.0.1:8083', fetch: createNodeFetch({}) })
      export const nodeId: string = (await runtime.getMe()).nodeId
      // @ts-expect-error a misspelled method
      void runtime.getMee
      export const reason = (cause: RpcFailure): string => cause.reason
      void createAccessTokenVerifier`
    writeFileSync(join(folder.path, 'program.ts'), program)
    const options = {
      ...{ module: 'nodenext', target: 'es2024', lib: ['es2024', 'dom'], strict: true, noEmit: true },
      ...{ skipLibCheck: false, types: ['node'], typeRoots: [join(root, 'node_modules/@types')] },
    }
    const config = { compilerOptions: options, files: ['program.ts'] }
    writeFileSync(join(folder.path, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const compile = () =>
      execFileSync(process.execPath, [tsc, '-p', folder.path], { encoding: 'utf8', stdio: 'pipe' })
    expect(compile).not.toThrow()
  })
})
