import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { command } from '../command.ts'
import { UsageError } from '../failure.ts'

/** From the sources and from the bundle, `templates` is two and one folders up. */
const templates = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../templates' : '../templates', import.meta.url),
)

export const init = command({
  path: ['init'],
  summary: 'Create a working example in a new folder.',
  args: [
    { name: '<kind>', description: 'kind of example', choices: ['function', 'oci', 'wasm', 'worker'] },
    { name: '<dir>', description: 'new folder' },
  ],
  run: async (_, { args: [kind = '', folder = ''] }) => {
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new UsageError(`${folder} is not empty`, 'Give the name of a new folder.')
    mkdirSync(folder, { recursive: true })
    cpSync(join(templates, kind), folder, { recursive: true })
    return { folder, files: readdirSync(folder), next: `selvedge dev ${folder}` }
  },
})
