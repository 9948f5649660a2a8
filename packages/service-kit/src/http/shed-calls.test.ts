/** In an overload, vital calls are served and all others refused, before anything is done for them. */
import type { Socket } from 'node:net'
import type { Method } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { followWorkload } from '../work/workload.ts'
import type { LoadShedder } from './load-shedder.ts'
import { type ShedContext, shedCalls } from './shed-calls.ts'

const socket = {} as Socket
const method = (name: string, priority?: 'vital') => ({ name, priority }) as unknown as Method
type Handlers = Record<string, (params: object, caller: unknown, context: ShedContext) => unknown>

function make(
  isBusy: boolean,
  handlers: Handlers = {},
  admit?: (method: Method, context: ShedContext) => void,
) {
  const asked: unknown[] = []
  const shedder = {
    isBusy(of: unknown) {
      asked.push(of)
      return isBusy
    },
  } as unknown as LoadShedder
  const methods = { vital: method('vital', 'vital'), usual: method('usual') }
  return { ...shedCalls(shedder, { methods, handlers, ...(admit && { admit }) } as never), methods, asked }
}
type Admit = (method: Method, context: ShedContext) => void

it('only a method that declares itself vital is served', () => {
  const { admit, methods, asked } = make(true)
  const context: ShedContext = { socket }
  expect(() => (admit as Admit)(methods.vital, context)).not.toThrow()
  expect([context.isBusy, asked]).toEqual([undefined, []])
  expect(() => (admit as Admit)(methods.usual, context)).toThrow(expect.objectContaining({ reason: 'busy' }))
  expect([context.isBusy, asked]).toEqual([true, [socket]])
})

it('without an overload each is served, after the check of the API itself', () => {
  const admitted: unknown[] = []
  const { admit, methods } = make(false, {}, (...each) => void admitted.push(each))
  const context: ShedContext = { socket }
  ;(admit as Admit)(methods.usual, context)
  expect(admitted).toEqual([[methods.usual, context]])
  expect(context.isBusy).toBeUndefined()
})

it('so many calls of one method are under way at most; vital ones without a limit', async () => {
  const ends: (() => void)[] = []
  const wait = () => new Promise<string>((resolve) => ends.push(() => resolve('done')))
  const { handlers } = make(false, { vital: wait, usual: wait })
  const call = (name: 'vital' | 'usual', context: ShedContext = { socket }) =>
    (handlers as unknown as Handlers)[name]!({}, undefined, context)
  const context: ShedContext = { socket }
  let calls = 0
  expect(() => {
    for (; calls < 5000; calls++) call('usual', context)
  }).toThrow(expect.objectContaining({ reason: 'busy' }))
  expect(context.isBusy).toBe(true)
  for (let at = 0; at <= calls; at++) call('vital')
  for (const end of ends.splice(0)) end()
  await new Promise(setImmediate)
  const again = call('usual')
  ends[0]!()
  expect(await again).toBe('done')
})

it('a handler gets what the call has', () => {
  const seen: unknown[] = []
  const { handlers } = make(false, { usual: (...each) => seen.push(...each) })
  const context = { socket }
  ;(handlers as unknown as Handlers).usual!({ a: 1 }, 'caller', context)
  expect(seen).toEqual([{ a: 1 }, 'caller', context])
})

it('calls under way count as work of their method', async () => {
  const workload = followWorkload()
  const { handlers } = make(false, { usual: () => new Promise(() => undefined) })
  const before = workload.counts()
  ;(handlers as unknown as Handlers).usual!({}, undefined, { socket })
  expect([before, workload.counts()]).toEqual([{ calls: 0 }, { calls: 1 }])
  workload.stop()
})
