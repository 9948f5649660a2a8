import { RpcError } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { createContainerLog } from '../containers/logs.ts'
import { mcmRoutes } from './routes.ts'

/** Calls `GET /mcm/v1/containers/{id}/logs` of a container with a line a second. */
async function logs(query: string): Promise<string[]> {
  let now = Date.parse('2026-01-31T12:00:00Z')
  const log = createContainerLog({ now: () => now })
  for (const text of ['first', 'second', 'third']) {
    log.add('stdout', text)
    now += 1000
  }
  const { table } = mcmRoutes({ containers: { logs: () => log }, images: {}, clock: {} } as never)
  const { handle } = table['GET /mcm/v1/containers/{id}/logs']!
  const answer = await handle({ id: 'c', query: new URLSearchParams(query) } as never)
  return (answer as { lines: { text: string }[] }).lines.map(({ text }) => text)
}

it.each([
  ['', ['first', 'second', 'third']],
  ['since=2026-01-31T12:00:01Z', ['second', 'third']],
  ['since=2026-01-31T13:00:01%2B01:00', ['second', 'third']],
  ['since=2026-01-31T12:00:01.500Z', ['third']],
  ['since=2026-01-31T12:00:00Z&tail=1', ['third']],
  ['since=2027-01-01', []],
])('the log with "%s" has only the lines from that time on', async (query, lines) => {
  expect(await logs(query)).toEqual(lines)
})

it.each(['yesterday', '10m', ''])('refuses the log since %j with invalid_params', async (since) => {
  const refused = await logs(`since=${since}`).catch((cause: RpcError) => cause)
  expect(refused).toBeInstanceOf(RpcError)
  expect(refused).toMatchObject({ reason: 'invalid_params', message: expect.stringContaining('since') })
})
