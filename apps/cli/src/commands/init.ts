import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanName } from '../archive/pack.ts'
import { command } from '../command.ts'
import { UsageError } from '../failure.ts'

const isSource = import.meta.url.endsWith('.ts')
const folderAt = (path: string) => fileURLToPath(new URL(path, import.meta.url))
/** From the sources and from the bundle, `templates` is two and one folders up. */
const templates = folderAt(isSource ? '../../templates' : '../templates')
/** Types and test calls of functions. The bundle has a copy beside it. */
const functionModules = folderAt(isSource ? '../../../../packages/client/src/function' : './function')
/** Kinds of projects that import the function modules. */
const typedKinds: ReadonlySet<string> = new Set(['function', 'worker'])

export const init = command({
  path: ['init'],
  summary:
    'Create a small project that works, with tests that need no device: a handler or module worker in TypeScript, a WASM function, or an OCI container.',
  args: [
    { name: '<kind>', description: 'kind of project', choices: ['function', 'oci', 'wasm', 'worker'] },
    { name: '<dir>', description: 'new folder' },
  ],
  examples: [
    'selvedge init worker hello     # module worker in TypeScript',
    'selvedge init function hello   # handler with request and response',
    'selvedge init wasm hello       # WASI program',
    'selvedge init oci hello        # container without an image registry',
  ],
  run: async (_, { args: [kind = '', folder = ''] }) => {
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new UsageError(`${folder} is not empty`, 'Give the name of a new folder.')
    mkdirSync(folder, { recursive: true })
    cpSync(join(templates, kind), folder, { recursive: true })
    if (typedKinds.has(kind)) copyFunctionModules(join(folder, 'selvedge'))
    // npm leaves files of this name out of packages.
    writeFileSync(join(folder, '.gitignore'), 'node_modules/\nrootfs/\n*.tar\n')
    nameProject(folder)
    const needs = kind === 'oci' ? buildFiles(folder) : undefined
    const files = readdirSync(folder)
    return { folder, files, ...(needs !== undefined && { needs }), next: `selvedge dev ${folder}` }
  },
})

/** Makes the files that an image consists of, as "npm run build" does. @returns what is missing on this machine for that */
function buildFiles(folder: string): string | undefined {
  const { status, stderr } = spawnSync(process.execPath, ['build.js'], { cwd: folder, encoding: 'utf8' })
  return status === 0 ? undefined : `${stderr.trim()}, then: npm run build --prefix ${folder}`
}

/** A project contains these modules, so that `npm install` in it requests no package of this project from a registry. */
function copyFunctionModules(target: string): void {
  mkdirSync(target)
  for (const name of readdirSync(functionModules)) {
    // Tests of the library are beside its sources.
    if (name.endsWith('.test.ts')) continue
    const text = readFileSync(join(functionModules, name), 'utf8')
    writeFileSync(join(target, name), withProjectPaths(text))
  }
}

/** The examples in the comments import the modules as the project does. */
const withProjectPaths = (text: string): string =>
  text
    .replaceAll("'@selvedge/client/function/node'", "'./selvedge/node.ts'")
    .replaceAll("'@selvedge/client/function/testing'", "'./selvedge/testing.ts'")
    .replaceAll("'@selvedge/client/function'", "'./selvedge/index.ts'")

/** The name of the package is the name of the image. */
function nameProject(folder: string): void {
  const path = join(folder, 'package.json')
  const project = JSON.parse(readFileSync(path, 'utf8'))
  project.name = cleanName(basename(resolve(folder)))
  writeFileSync(path, `${JSON.stringify(project, undefined, 2)}\n`)
}
