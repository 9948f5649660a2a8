/** What is a copy of a device, and what is only similar to one. */
import { expect, it } from 'vitest'
import { type Turns, takeTurn, turnLimits } from './turns.ts'

const minute = 60_000

/** Requests of starts, ten minutes apart. A start counts by itself; "A5" is request 5 of the start A. @returns after which a copy was noticed */
function hear(requests: string, stepMs = 10 * minute): number[] {
  let turns: Turns | undefined
  const counts = new Map<string, number>()
  const noticed: number[] = []
  for (const [at, request] of requests.split(' ').entries()) {
    const [, id = '', given] = /^([A-Z]+)(\d*)$/.exec(request)!
    const count = given === '' ? (counts.get(id) ?? 0) + 1 : Number(given)
    counts.set(id, count)
    const { next, isNews } = takeTurn(turns, { id, count }, at * stepMs)
    turns = next ?? turns
    if (isNews) noticed.push(at)
  }
  return noticed
}

it.each([
  ['a device that is never started again', 'A A A A A A A A A A A A'],
  ['power cuts', 'A A B B C C D D E E'],
  ['a hundred starts', Array.from({ length: 100 }, (_, at) => 'X'.repeat(at + 1)).join(' ')],
  ['a restored backup', 'A A A B B B B B'],
  ['a snapshot with memory, restored after a start', 'A1 A2 A3 B1 B2 A3 A4 A5 A6 A7'],
  ['a snapshot that nothing was heard of since, restored after a start', 'A1 A2 B1 B2 A3 A4 A5 C1 C2'],
  ['a snapshot that is restored three times', 'A1 A2 A3 A2 A3 A4 A2 A3 A4 A2 A3 A4 A5'],
  ['requests that cross, in one start', 'A1 A3 A2 A5 A4 A6', minute],
  [
    'requests that cross again and again, in a start that runs for long',
    'A1 A2 A3 A4 A5 A6 A7 A8 A10 A9 A12 A11 A14 A13 A16 A15 A18 A17 A20 A19',
    minute,
  ],
  [
    'a request that was on the way while the device was started again',
    'A1 A2 B1 A3 B2 C1 B3 C2 D1 C3',
    minute,
  ],
] as const)('%s is no copy', (_, requests, stepMs?: number) => {
  expect(hear(requests, stepMs)).toEqual([])
})

it.each([
  ['two devices that take turns', 'A A A B A B A B', 7],
  ['two devices of which one is started again', 'A B A C A D A E A', 8],
  ['three devices', 'A B C A B C A', 6],
  ['a virtual machine that was copied with its memory', 'A1 A2 A2 A3 A3 A4 A4 A5 A5', 8],
] as const)('%s are a copy, which is noticed once', (_, requests, at) => {
  expect(hear(requests)).toEqual([at])
})

it('two devices with requests right after each other are a copy', () => {
  let turns: Turns | undefined
  const noticed: number[] = []
  for (let at = 0; at < 12; at++) {
    const [id, time] = at % 2 === 0 ? ['A', at * 5] : ['B', at * 5 - 2]
    const { next, isNews } = takeTurn(turns, { id, count: at + 1 }, time * minute)
    turns = next ?? turns
    if (isNews) noticed.push(time)
  }
  expect(noticed).toEqual([43])
})

it('is noticed again where it begins again a day later', () => {
  const day = 144
  const silent = Array.from({ length: day + 5 }, () => 'A').join(' ')
  expect(hear(`A B A B A B ${silent} B A B A`)).toEqual([5, 6 + day + 5 + 3])
})

it('a clock of the service that is set back by two days notices nothing by itself, and the copy when it is past', () => {
  const two = 2 * 24 * 60 * minute
  let turns: Turns | undefined
  const at = (id: string, count: number, now: number) => {
    const turn = takeTurn(turns, { id, count }, now)
    turns = turn.next ?? turns
    return turn.isCopy
  }
  at('A', 1, two)
  at('B', 1, two + 10 * minute)
  expect(at('A', 2, 0)).toBe(false)
  expect(at('B', 2, minute)).toBe(false)
  const later = [20, 30, 40, 50].map((each) => at(each % 20 === 0 ? 'A' : 'B', each, two + each * minute))
  expect(later).toEqual([false, false, false, true])
  expect(at('A', 60, 0)).toBe(false)
})

it('stores no more for ten thousand starts, and for counts as large as a number can be', () => {
  let turns: Turns | undefined
  for (let start = 0; start < 10_000; start++) {
    const contact = { id: String(start).padStart(22, '0'), count: Number.MAX_SAFE_INTEGER }
    turns = takeTurn(turns, contact, 1e13 + start * 10 * minute).next ?? turns
  }
  expect(turns!.starts).toHaveLength(turnLimits.starts)
  for (let at = 0; at < 100; at++)
    turns =
      takeTurn(
        turns,
        { id: turns!.starts.at(-1)!.id, count: at % 2 === 0 ? 1 : 2 ** 53 - 1 },
        1e14 + at * 1e7,
      ).next ?? turns
  expect(JSON.stringify(turns).length).toBeLessThan(1500)
})
