import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openControlLine } from './control-line.ts'
import { encodeFrame } from './frames.ts'

const folder = mkdtempSync(join(tmpdir(), 'selvedge-'))
afterAll(() => rmSync(folder, { recursive: true }))

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
    answer: () => new Promise((resolve) => setTimeout(resolve, 20)),
    onViolation: (why) => closed.resolve(why),
    onClosed: () => closed.resolve('closed'),
  })
  connect(path).resume().end(Buffer.concat(frames))
  expect(await closed.promise).toBe('closed')
  line.close()
})
