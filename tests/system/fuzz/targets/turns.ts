import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { expectThat } from '../engine/target.ts'

const maxTurns = 2000
/** Milliseconds after these turns, for a machine that is busy with other programs. */
const silenceMs = 10_000

/** Waits for work that needs no time of its own: where it is not done after many turns of the event loop, it never will be. */
export async function withinTurns<T>(work: Promise<T>): Promise<T> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  work.then(over, over)
  for (let turn = 0; turn < maxTurns && !isOver; turn++) await nextTurn()
  for (const end = performance.now() + silenceMs; !isOver && performance.now() < end; ) await sleep(10)
  expectThat(isOver, 'it neither answers nor refuses')
  return work
}
