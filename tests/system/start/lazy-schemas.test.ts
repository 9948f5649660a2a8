/** Programs get a stand-in for `zod` that builds a schema when it is used first. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type OutputChunk, type Plugin, rolldown } from 'rolldown'
import { expect, it } from 'vitest'
import * as lazy from '../../../packages/service-kit/src/schemas/zod.lazy-schemas.ts'
import { root } from '../../harness/processes.ts'

/** Every schema of the API: as JSON Schema, and what it makes of some values. */
const describe = `
import * as z from 'zod'
import { methods } from '${join(root, 'packages/protocol/src/index.ts')}'
const values = [undefined, null, '', 'text', '12.5', 7, -1.5, true, [], ['a'], {}, { id: 1 }]
const report = (schema) => [
  z.toJSONSchema(schema, { target: 'draft-7', io: 'input', unrepresentable: 'any' }),
  ...values.map((value) => { const read = schema.safeParse(value); return read.success ? [read.data] : read.error.issues }),
]
export const reported = Object.values(methods).map((each) => [
  each.name, ...each.params.map(({ schema }) => report(schema)), report(each.result),
])`

async function reportWith(plugins: Plugin[]): Promise<unknown[]> {
  const entry: Plugin = {
    name: 'entry',
    resolveId: (id) => (id === 'entry' ? join(root, 'packages/protocol/src/entry.ts') : undefined),
    load: (id) => (id.endsWith('/entry.ts') ? describe : undefined),
  }
  const bundle = await rolldown({
    input: 'entry',
    platform: 'node',
    plugins: [entry, ...plugins],
    resolve: { conditionNames: ['source', 'import', 'node', 'default'] },
  })
  const { output } = await bundle.generate({ format: 'esm' })
  const { code } = output[0] as OutputChunk
  const { reported } = await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`)
  return reported as unknown[]
}

it('has the schemas of zod: the whole API is described, accepted and refused alike', async () => {
  const script = pathToFileURL(join(root, 'scripts/start/lazy-schemas.mjs')).href
  const { lazySchemas } = (await import(script)) as { lazySchemas: Plugin }
  const [ours, theirs] = [await reportWith([lazySchemas]), await reportWith([])]
  expect(ours.length).toBeGreaterThan(20)
  expect(ours).toEqual(theirs)
})

it('builds nothing before the first use, and then once', () => {
  let built = 0
  const shape = {
    get name() {
      built++
      return lazy.string().min(1)
    },
  }
  const schema = lazy.object(shape).nullable().optional()
  expect(built).toBe(0)
  expect(schema.safeParse({ name: 'a' })).toEqual({ success: true, data: { name: 'a' } })
  expect(schema.safeParse({ name: '' }).success).toBe(false)
  expect(schema.safeParse(null).success).toBe(true)
  expect(built).toBe(1)
})
