/** The body of a request is read through `textBodyOf`: a request may have no body, and a cast hides that from the compiler. */
import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { root } from '../harness/processes.ts'

const reader = 'packages/service-kit/src/http-app/text-body.ts'
/** `request.body`, and `{ body }` of a request in a handler or a parameter. */
const readsBody =
  /\brequest\.body\b|\{[^}\n]*\bbody\b[^}\n]*\}: FastifyRequest|async \(\{[^}\n]*\bbody\b[^}\n]*\}(?:,|\))/

it('only one function reads the body of a request of Fastify', () => {
  const files = globSync(
    [
      'apps/{identity,discovery}/src/api/**/*.ts',
      'apps/discovery/src/endpoints/*.ts',
      'packages/service-kit/src/http-app/*.ts',
    ],
    { cwd: root },
  )
  expect(files.length).toBeGreaterThan(50)
  const found = files.filter(
    (file) => !file.endsWith('.test.ts') && readsBody.test(readFileSync(`${root}/${file}`, 'utf8')),
  )
  expect(found).toEqual([reader])
})
