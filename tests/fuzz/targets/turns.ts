import { setImmediate as nextTurn } from 'node:timers/promises'
import { expectThat } from '../engine/target.ts'

const maxTurns = 2000

/** Waits for work that needs no time of its own: where it is not done after many turns of the event loop, it never will be. */
export async function withinTurns<T>(work: Promise<T>): Promise<T> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  work.then(over, over)
  for (let turn = 0; turn < maxTurns && !isOver; turn++) await nextTurn()
  if (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expectThat(isOver, 'it neither answers nor refuses')
  }
  return work
}
