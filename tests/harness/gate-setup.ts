/** Runs before each test file: fails a test during which there was an alarm, and the file for one outside of its tests. */
import { afterAll, afterEach } from 'vitest'
import { raiseAlarm, takeAlarms } from './gate.ts'

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
afterAll(async () => {
  process.off('unhandledRejection', onRejection)
  process.off('uncaughtException', onException)
  await expectNoAlarm()
})
