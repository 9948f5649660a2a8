import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from 'vitest'
import { leastOf } from '../../../../../../tests/harness/cpu.ts'
import { manyTurns } from '../../../../../../tests/harness/unread.ts'
import { openControlLine } from './control-line.ts'
import { encodeFrame } from './frames.ts'

const folder = mkdtempSync(join(tmpdir(), 'selvedge-'))
afterAll(() => rmSync(folder, { recursive: true }))

const ending: (() => void)[] = []
afterEach(() => {
  for (const end of ending.splice(0)) end()
})

const message = (value: object) => encodeFrame('message', Buffer.from(JSON.stringify(value)))

it.each([
  ['nothing', []],
  ['a frame', [message({ listening: true })]],
  ['a question that is still answered', [message({ identify: 'a', ask: 1 })]],
  ['many frames', Array(50).fill(message({ identify: 'a', ask: 1 }))],
])('reports that the program closed the line right after %s', async (_, frames) => {
  const closed = Promise.withResolvers<string>()
  const path = join(folder, 'control')
  const line = await openControlLine(path, 1000, {
    onListening: () => undefined,
    onReady: () => undefined,
    onBroken: () => undefined,
    answer: async () => void (await manyTurns()),
    onViolation: (why) => closed.resolve(why),
    onClosed: () => closed.resolve('closed'),
  })
  connect(path).resume().end(Buffer.concat(frames))
  expect(await closed.promise).toBe('closed')
  line.close()
})

/** A line to a program that is connected and does not read. */
async function unread(maxValueBytes: number) {
  const violations: string[] = []
  const path = join(folder, 'unread')
  const line = await openControlLine(path, maxValueBytes, {
    onListening: () => undefined,
    onReady: () => undefined,
    onBroken: () => undefined,
    answer: async () => undefined,
    onViolation: (why) => violations.push(why),
    onClosed: () => undefined,
  })
  const program = connect(path).pause()
  // Its first answer shows that the runtime has its connection.
  program.write(message({ identify: 'a', ask: 1 }))
  await once(program, 'readable')
  ending.push(() => {
    program.destroy()
    line.close()
  })
  return { line, violations, program }
}

it('waits in time linear in the number of changes that a program has not read', async () => {
  const cost = async (changes: number) => {
    const { line, violations } = await unread(1000)
    const before = process.cpuUsage()
    const sent: Promise<void>[] = []
    for (let at = 0; at < changes; at++) sent.push(line.sendChange({ set: [['key', 'value']] }))
    line.close()
    await Promise.all(sent)
    const { user, system } = process.cpuUsage(before)
    expect(violations).toEqual([])
    return user + system
  }
  // The square of it is a hundred times as much.
  const growth = ([few = 0, many = 0]: readonly number[]) => many / Math.max(few, 1000)
  const measures = [() => cost(3000), () => cost(30_000)]
  expect(growth(await leastOf(measures, (least) => growth(least) < 40))).toBeLessThan(40)
})

it('sends the longest value that the storage may hold, and ends a program that does not read them', async () => {
  const longest = 64 * 1024 * 1024
  const { line, violations, program } = await unread(longest)
  const sent = line.sendChange({ setLong: 'key', value: Buffer.alloc(longest) })
  expect(violations).toEqual([])
  program.resume()
  await sent
  program.pause()
  await Promise.all([1, 2].map(() => line.sendChange({ setLong: 'key', value: Buffer.alloc(longest) })))
  expect(violations).toEqual([expect.stringContaining('bytes unread')])
})

it('sends events to a program that has a handler for them, and nothing after the line closed', async () => {
  const path = join(folder, 'events')
  const ready = Promise.withResolvers<boolean>()
  const violation = Promise.withResolvers<string>()
  const line = await openControlLine(path, 1000, {
    onListening: () => undefined,
    onReady: ready.resolve,
    onBroken: () => undefined,
    answer: async () => undefined,
    onViolation: violation.resolve,
    onClosed: () => undefined,
  })
  ending.push(line.close)
  const program = connect(path)
  ending.push(() => program.destroy())
  program.write(Buffer.concat([message({ listening: true }), message({ ready: true, scheduled: true })]))
  expect(await ready.promise).toBe(true)
  const [first, second, third] = [1, 2, 3].map((time) => line.run({ cron: '* * * * *', time }))
  for (const each of [second, third]) each!.catch(() => undefined)
  program.write(Buffer.concat([message({ ran: 1 }), message({ ran: 2, failed: 'no network' })]))
  await first
  await expect(second).rejects.toThrow('no network')
  program.write(message({ ran: 4 }))
  expect(await violation.promise).toContain('a result of an event that was not sent')
  await expect(third).rejects.toThrow('the instance stopped')
  await expect(line.run({ cron: '* * * * *', time: 4 })).rejects.toThrow('the instance stopped')
})
