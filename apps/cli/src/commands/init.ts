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
  summary: 'Make a working example in a new folder: function, worker, wasm or oci.',
  args: '<kind> <dir>',
  run: async (_, { args: [kind = '', folder = ''] }) => {
    const kinds = readdirSync(templates)
    if (!kinds.includes(kind))
      throw new UsageError(`there is no kind ${JSON.stringify(kind)}`, `It is one of ${kinds.join(', ')}.`)
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new UsageError(`${folder} is not empty`, 'Name a folder that is not there yet.')
    mkdirSync(folder, { recursive: true })
    cpSync(join(templates, kind), folder, { recursive: true })
    return { folder, files: readdirSync(folder), next: `selvedge dev ${folder}` }
  },
})
