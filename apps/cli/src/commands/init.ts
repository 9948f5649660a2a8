import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanName } from '../archive/pack.ts'
import { command } from '../command.ts'
import { UsageError } from '../failure.ts'

/** From the sources and from the bundle, `templates` is two and one folders up. */
const templates = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../templates' : '../templates', import.meta.url),
)

export const init = command({
  path: ['init'],
  summary:
    'Create a small project that works, with tests that need no device: a handler or module worker in TypeScript, a WASM function, or an OCI container.',
  args: [
    { name: '<kind>', description: 'kind of project', choices: ['function', 'oci', 'wasm', 'worker'] },
    { name: '<dir>', description: 'new folder' },
  ],
  run: async (_, { args: [kind = '', folder = ''] }) => {
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new UsageError(`${folder} is not empty`, 'Give the name of a new folder.')
    mkdirSync(folder, { recursive: true })
    cpSync(join(templates, kind), folder, { recursive: true })
    // npm leaves files of this name out of packages.
    writeFileSync(join(folder, '.gitignore'), 'node_modules/\nrootfs/\n*.tar\n')
    nameProject(folder)
    const next = kind === 'oci' ? `npm run dev --prefix ${folder}` : `selvedge dev ${folder}`
    return { folder, files: readdirSync(folder), next }
  },
})

/** The name of the package is the name of the image. */
function nameProject(folder: string): void {
  const path = join(folder, 'package.json')
  const project = JSON.parse(readFileSync(path, 'utf8'))
  project.name = cleanName(basename(resolve(folder)))
  writeFileSync(path, `${JSON.stringify(project, undefined, 2)}\n`)
}
