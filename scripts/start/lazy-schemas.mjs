/** Programs build their schemas when they are used first: they get `zod.lazy-schemas.ts` in place of `zod`, which says how. */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const standIn = join(root, 'packages/service-kit/src/schemas/zod.lazy-schemas.ts')

/** A plugin of the bundler. */
export const lazySchemas = {
  name: 'lazy-schemas',
  resolveId: (source, importer) => (source === 'zod' && importer !== standIn ? standIn : undefined),
}
