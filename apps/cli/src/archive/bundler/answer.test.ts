import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { answer } from './answer.ts'
import { buildLimits as limits } from './limits.ts'

const hello = readFileSync(
  new URL('../../../../../tests/system/services/components/hello.wasm', import.meta.url),
)

it('answers with the code of a component', async () => {
  const given = await answer({ component: hello, entry: 'index.wasm', limits })
  expect(given).toMatchObject({ bundled: { files: [], warnings: [] } })
})

it('answers with the problem of a component that cannot be read', async () => {
  const given = await answer({ component: hello.subarray(0, 100), entry: 'index.wasm', limits })
  expect(given).toMatchObject({ problem: { file: 'index.wasm' } })
})
