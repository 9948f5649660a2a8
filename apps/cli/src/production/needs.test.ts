/** What `selvedge doctor` shows of the ports of containers. */
import type { PortRecord } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { doctor } from '../commands/doctor.ts'
import type { Context } from '../context/context.ts'
import { UsageError } from '../failure.ts'

const engine = { available: true, detail: 'there', isolation: [], hints: [] }
const me = {
  version: '1.0.0',
  nodeId: 'n',
  accountId: 'a',
  time: { state: 'trusted', now: '2026-01-01T00:00:00.000Z' },
  network: { identity: {}, discovery: {} },
  notices: [],
}

/** Lines about ports. @param ports undefined for a runtime of an earlier release */
async function linesWith(ports: readonly PortRecord[] | undefined): Promise<string[]> {
  const runtime = {
    getMe: async () => me,
    getEngines: async () => ({ function: engine, oci: engine, ...(ports && { ports }) }),
  }
  const findService = async () => {
    throw new UsageError('no service', 'Start it.')
  }
  const env = { SELVEDGE_CONFIG: '/nowhere/selvedge.json' }
  const context = { runtime, findService, env } as unknown as Context
  const result = await doctor.run(context, { args: [], options: {} })
  const lines = doctor.human!(result as never).split('\n')
  return lines.slice(lines.findIndex((line) => line.includes(' oci ')) + 1)
}

it('shows who reaches each port of a container, and why one is closed', async () => {
  const port = { port: 1883, protocol: 'tcp', target: 1883, reach: 'network', problem: null } as const
  expect(
    await linesWith([
      port,
      { ...port, port: 5683, protocol: 'udp', target: 7, reach: 'loopback' },
      { ...port, port: 8883, problem: 'another program of this device has it' },
    ]),
  ).toEqual([
    'ok    port       1883/tcp to port 1883 of a container: open to the network (services.publish)',
    'ok    port       5683/udp to port 7 of a container: open to programs of this device; closed to the network, services.publish does not list it',
    'miss  port       8883/tcp to port 1883 of a container: closed, another program of this device has it',
    '                 "selvedge container list" shows the container.',
  ])
})

it('shows no port without one, and of a runtime that does not report ports', async () => {
  expect(await linesWith([])).toEqual([])
  expect(await linesWith(undefined)).toEqual([])
})
