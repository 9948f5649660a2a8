import { RpcError } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { createContainerLog } from '../../services/containers/logs.ts'
import { readQuery } from '../rest/query.ts'
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
  const { handle, query: parameters = {} } = table['GET /mcm/v1/containers/{id}/logs']!
  const answer = await handle({ id: 'c', query: readQuery(new URLSearchParams(query), parameters) } as never)
  return (answer as { lines: { text: string }[] }).lines.map(({ text }) => text)
}

it.each([
  ['', ['first', 'second', 'third']],
  ['since=2026-01-31T12:00:01Z', ['second', 'third']],
  ['since=2026-01-31T13:00:01%2B01:00', ['second', 'third']],
  ['since=2026-01-31T12:00:01.500Z', ['third']],
  ['since=2026-01-31T12:00:00Z&tail=1', ['third']],
  ['since=2027-01-01', []],
  ['tail=2&follow=false', ['second', 'third']],
])('the log with "%s" has only the lines from that time on', async (query, lines) => {
  expect(await logs(query)).toEqual(lines)
})

it.each([
  ['since=yesterday', '"yesterday"; expected an ISO 8601 time'],
  ['since=', '""; expected an ISO 8601 time'],
  ['tail=abc', '"abc"; expected a whole number from 1 to 10000'],
  ['tail=0', '"0"; expected a whole number from 1 to 10000'],
  ['tail=10001', '"10001"; expected a whole number from 1 to 10000'],
  ['tail=1.5', '"1.5"; expected a whole number from 1 to 10000'],
  ['follow=yes', '"yes"; expected "true" or "false"'],
  ['lines=5', '"lines" is unknown; expected "tail", "since", "follow"'],
])('the log with "%s" is refused with invalid_params', async (query, message) => {
  const refused = await logs(query).catch((cause: RpcError) => cause)
  expect(refused).toBeInstanceOf(RpcError)
  expect(refused).toMatchObject({ reason: 'invalid_params', message: expect.stringContaining(message) })
})

it('newer deployers find containers under /mims, and what serves is started', async () => {
  const states = ['running', 'paused', 'stopped', 'failed']
  const list = async () => states.map((state) => ({ id: state, state }))
  const { table } = mcmRoutes({ containers: { list, logs: () => 'x' }, images: {}, clock: {} } as never)
  const keys = (prefix: string) => Object.keys(table).filter((key) => key.includes(prefix))
  expect(keys('/mims')).toEqual(keys('/containers').map((key) => key.replace('/containers', '/mims')))
  const stateOf = async (key: string) => {
    const { data } = (await table[key]!.handle({} as never)) as { data: { state: string }[] }
    return data.map(({ state }) => state)
  }
  expect(await stateOf('GET /mcm/v1/mims')).toEqual(['started', 'started', 'stopped', 'failed'])
  expect(await stateOf('GET /mcm/v1/containers')).toEqual(states)
})
