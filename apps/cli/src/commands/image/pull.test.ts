import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ImageRecord } from '@selvedge/protocol'
import { expect, it, onTestFinished } from 'vitest'
import type { Context } from '../../context/context.ts'
import { pullImage } from './pull.ts'

/** A runtime that sends these events of the topic `pulls`, and answers `deployImage` when the picture has shown them. */
async function pull(events: readonly string[], until: string) {
  const server = createServer((_, response) => {
    response.writeHead(events.length === 0 ? 400 : 200, { 'content-type': 'text/event-stream' })
    for (const data of events) response.write(`event: pulls\ndata: ${data}\n\n`)
    if (events.length === 0) response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const lines: string[] = []
  const deployed = Promise.withResolvers<ImageRecord>()
  const context = {
    terminal: {
      isWatched: true,
      redraw(line: string) {
        lines.push(line)
        if (line.includes(until)) deployed.resolve({ name: 'nginx' } as ImageRecord)
      },
    },
    runtime: { deployImage: () => deployed.promise },
    streams: async () => ({ url: `http://127.0.0.1:${port}`, edgeAccessToken: 'token' }),
  } as unknown as Context
  return { image: await pullImage(context, 'token', 'example/nginx:1'), lines }
}
const event = (...data: object[]) => JSON.stringify({ topic: 'pulls', data })

it('shows a bar for the image that it pulls, and no other one', async () => {
  const { image, lines } = await pull(
    [
      event({ source: 'example/nginx:1', receivedBytes: 0, totalBytes: null }),
      event(
        { source: 'example/other:1', receivedBytes: 9, totalBytes: 10 },
        { source: 'example/nginx:1', receivedBytes: 1_000_000, totalBytes: 4_000_000 },
      ),
    ],
    '25 % of 4.0 MB',
  )
  expect(image.name).toBe('nginx')
  expect(lines.some((line) => line.includes('90 %'))).toBe(false)
  expect(lines.at(-1)).toBe('')
})

it('shows the rate, the interruptions and what it waits for', async () => {
  const pulled = { source: 'example/nginx:1', receivedBytes: 1_000_000, totalBytes: 4_000_000 }
  const { lines } = await pull(
    [
      event({ ...pulled, bytesPerSecond: 250_000 }),
      event({ ...pulled, interruptions: 1, waiting: { seconds: 90, reason: 'host: \u001b[2Jhang up' } }),
    ],
    'tries again in',
  )
  const last = lines.findLast((line) => line.includes('tries again in'))
  expect(last).toMatch(/25 % of 4\.0 MB {2}1 interruption, tries again in (90|89) s: host: .*hang up/)
})

it.each([
  ['reports no progress', []],
  ['sends what is no event', ['{"topic":"pulls","data":"x"}']],
])('pulls with a runtime that %s', async (_, events) => {
  expect((await pull(events, 'example/nginx:1')).image.name).toBe('nginx')
})
