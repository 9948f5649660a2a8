import { RpcError } from '@selvedge/protocol'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { createNotices } from '../../device/node/notices.ts'
import type { Engine, EngineReport, Instance, Plan } from './engine.ts'
import { withNotice } from './engine-notice.ts'

const plan = { id: 'client-name' } as Plan

function watched() {
  const notices = createNotices(createFakeClock(), createMemoryLog())
  let failure: RpcError | undefined
  const fake = {
    start: async () => {
      if (failure) throw failure
      return {} as Instance
    },
    describe: async () => ({ available: failure === undefined }) as EngineReport,
  } as unknown as Engine
  const engine = withNotice(fake, 'function_engine_unavailable', notices)
  return {
    engine,
    shown: () => notices.list().map(({ reason }) => reason),
    fail: (cause: RpcError | undefined) => {
      failure = cause
    },
  }
}
const unavailable = new RpcError('engine_unavailable', 'bubblewrap is installed and fails')

it('shows an engine that refuses to start instances, until one starts', async () => {
  const { engine, shown, fail } = watched()
  fail(unavailable)
  await expect(engine.start(plan)).rejects.toBe(unavailable)
  expect(shown()).toEqual(['function_engine_unavailable'])
  await engine.describe()
  expect(shown()).toEqual(['function_engine_unavailable'])
  fail(undefined)
  await engine.start(plan)
  expect(shown()).toEqual([])
})

it('is cleared when the engine is found to work', async () => {
  const { engine, shown, fail } = watched()
  fail(unavailable)
  await engine.start(plan).catch(() => undefined)
  fail(undefined)
  await engine.describe()
  expect(shown()).toEqual([])
})

it('does not show a failure that is the fault of a container', async () => {
  const { engine, shown, fail } = watched()
  fail(new RpcError('container_failed', 'it did not load'))
  await engine.start(plan).catch(() => undefined)
  expect(shown()).toEqual([])
})
