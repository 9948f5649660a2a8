import { safely } from '../safely/safely.ts'

/** Runs pieces of work in their order, at most one in each turn of the event loop, so that other requests come between. */
export function createOneATurn(): (work: () => void) => void {
  const waiting: (() => void)[] = []
  const runNext = safely('http.large-body', () => {
    const work = waiting.shift()
    if (waiting.length > 0) setImmediate(runNext)
    work?.()
  })
  return (work) => {
    if (waiting.push(work) === 1) setImmediate(runNext)
  }
}
