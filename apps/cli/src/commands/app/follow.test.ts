/** What a person sees while an app is deployed, also after the connection for events was cut. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { Context } from '../../context/context.ts'
import { followDeployment } from './follow.ts'

type Answer = (response: ServerResponse) => void

const member = (service: string, state: string, more: object = {}) => ({
  ...{ service, state, waitingFor: [], pull: null, why: null },
  ...more,
})
const event = (deployment: string, ...members: object[]) =>
  `event: apps\ndata: ${JSON.stringify({ topic: 'apps', data: [{ app: 'shop', deployment, members }] })}\n\n`

/** A runtime that answers its streams in this order; the deployment is complete when a text was shown. */
async function follow(answers: readonly Answer[], until: string) {
  let asked = 0
  const server = createServer((_, response) => answers[Math.min(asked++, answers.length - 1)]!(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const [lines, drawn]: [string[], string[]] = [[], []]
  const deployed = Promise.withResolvers<string>()
  const seen = (list: string[]) => (line: string) => {
    list.push(line)
    if (line.includes(until)) deployed.resolve('record')
  }
  const context = {
    terminal: { isWatched: true, redraw: seen(drawn), note: seen(lines) },
    streams: async () => ({ url: `http://127.0.0.1:${port}`, edgeAccessToken: 'token' }),
  } as unknown as Context
  const deployment = { app: 'shop', deployment: 'mine' }
  return { result: await followDeployment(context, 'token', deployment, deployed.promise), lines, drawn }
}
const stream =
  (...events: string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const each of events) response.write(each)
  }
const cut =
  (...events: string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(events.join(''), () => response.destroy())
  }

it('shows each change of a member once, and its download in the line that is drawn again', async () => {
  const pull = { source: 'x', receivedBytes: 1_000_000, totalBytes: 4_000_000, bytesPerSecond: 250_000 }
  const { result, lines, drawn } = await follow(
    [
      stream(
        event('other', member('db', 'failed')),
        event('mine', member('db', 'pulling', { pull }), member('web', 'waiting', { waitingFor: ['db'] })),
        event(
          'mine',
          member('db', 'pulling', { pull: { ...pull, receivedBytes: 2_000_000 } }),
          member('web', 'waiting', { waitingFor: ['db'] }),
        ),
        event('mine', member('db', 'healthy'), member('web', 'failed', { why: 'exit code 3' })),
      ),
    ],
    'exit code 3',
  )
  expect(result).toBe('record')
  expect(lines).toEqual([
    '  db: pulling',
    '  web: waiting for db',
    '  db: healthy',
    '  web: failed: exit code 3',
  ])
  expect(drawn.at(-1)).toBe('')
})

it('shows the bytes and the rate of a download', async () => {
  const pull = { source: 'x', receivedBytes: 1_000_000, totalBytes: 4_000_000, bytesPerSecond: 250_000 }
  const { drawn } = await follow([stream(event('mine', member('db', 'pulling', { pull })))], '25 % of 4.0 MB')
  expect(drawn.find((line) => line.includes('25 %'))).toMatch(
    /deploying shop: 0 of 1, db: pulling .*250 kB\/s/,
  )
})

it('continues after the connection was cut', async () => {
  const { lines } = await follow(
    [cut(event('mine', member('db', 'starting'))), stream(event('mine', member('db', 'healthy')))],
    'db: healthy',
  )
  expect(lines).toEqual(['  db: starting', '  db: healthy'])
})

it('shows only the time with a runtime that has no such events', async () => {
  const { lines } = await follow([(response) => response.writeHead(400).end('{}')], 'deploying shop')
  expect(lines).toEqual([])
})
