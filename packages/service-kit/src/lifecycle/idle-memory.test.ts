/** In a process of its own: the young generation of the test runner is not ours to measure. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const program = (settings: object, afterwards: string) => `
import { getHeapSpaceStatistics } from 'node:v8'
import { setTimeout as sleep } from 'node:timers/promises'
import { returnIdleMemory } from ${JSON.stringify(fileURLToPath(new URL('idle-memory.ts', import.meta.url)))}
const young = () => getHeapSpaceStatistics().find((each) => each.space_name === 'new_space').space_size
const held = new Array(20_000)
let count = 0
function allocate() {
  for (let each = 0; each < 20_000; each++) held[count++ % held.length] = { list: [1, 2, 3], value: { count } }
}
returnIdleMemory(${JSON.stringify(settings)})
while (young() < 33_554_432 && count < 2e8) { allocate(); await sleep(0) }
const busy = young()
${afterwards}
process.stdout.write(JSON.stringify({ busy, later: young() }))
`

async function run(settings: object, afterwards: string): Promise<{ busy: number; later: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=source',
    '--input-type=module',
    '--eval',
    program(settings, afterwards),
  ])
  return JSON.parse(stdout) as { busy: number; later: number }
}

const waitUntilSmall = 'for (let turn = 0; turn < 1000 && young() >= busy; turn++) await sleep(20)'

describe('memory of an idle process', () => {
  it('is returned after a busy time', async () => {
    const { busy, later } = await run({ checkEveryMs: 100, maxBusyPart: 0.9 }, waitUntilSmall)
    expect(busy).toBeGreaterThanOrEqual(32 * 1024 * 1024)
    expect(later).toBeLessThan(busy / 4)
  })

  it('is left alone while the process is busy, so that no request waits for a full collection', async () => {
    const { busy, later } = await run(
      { checkEveryMs: 20, maxBusyPart: 0 },
      'for (let turn = 0; turn < 50; turn++) { const end = performance.now() + 5; while (performance.now() < end); await sleep(1) }',
    )
    expect(later).toBe(busy)
  })

  it('is left alone if the heap is large, since a collection would then take long', async () => {
    const { busy, later } = await run(
      { checkEveryMs: 20, maxBusyPart: 0.9, maxUsedBytes: 0 },
      'await sleep(500)',
    )
    expect(later).toBe(busy)
  })

  it('is left alone if the young generation is small', async () => {
    const { busy, later } = await run(
      { checkEveryMs: 20, maxBusyPart: 0.9, minBytes: 2 ** 40 },
      'await sleep(500)',
    )
    expect(later).toBe(busy)
  })
})
