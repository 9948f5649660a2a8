/**
 * Runs before each test file: fails a test during which there was an alarm, and the file for one outside of its tests. Notes the CPU
 * time of the file.
 */
import { readFileSync } from 'node:fs'
import { afterAll, afterEach } from 'vitest'
import { raiseAlarm, takeAlarms } from './gate.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** Of a file: seconds of CPU time of its process and of the processes that it started and that have exited. */
    cpuSeconds?: number
  }
}

/** Seconds of CPU time, in ticks of 10 ms: utime, stime, cutime and cstime (proc(5)); 0 without /proc. */
function cpuSeconds(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100
  } catch {
    return 0
  }
}
const before = cpuSeconds()

const describeCause = (cause: unknown): string => String((cause as Error)?.stack ?? cause)
const onRejection = (cause: unknown) => raiseAlarm(`a rejection was not handled: ${describeCause(cause)}`)
const onException = (cause: unknown) => raiseAlarm(`an exception was not caught: ${describeCause(cause)}`)
process.on('unhandledRejection', onRejection)
process.on('uncaughtException', onException)

async function expectNoAlarm(): Promise<void> {
  const alarms = await takeAlarms()
  if (alarms.length > 0) throw new Error(alarms.join('\n'))
}

afterEach(expectNoAlarm)
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the first argument as a list of fixtures
afterAll(async ({}, file) => {
  process.off('unhandledRejection', onRejection)
  process.off('uncaughtException', onException)
  file.meta.cpuSeconds = cpuSeconds() - before
  await expectNoAlarm()
})
