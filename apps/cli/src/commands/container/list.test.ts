/** What `selvedge container list` prints. */
import type { ContainerRecord, PortRecord } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import type { Context } from '../../context/context.ts'
import { containerList } from './list.ts'

const record = (name: string, more: Partial<ContainerRecord> = {}) =>
  ({
    id: `c-${name}`,
    name,
    state: 'running',
    health: 'unknown',
    basePath: `/c/${name}`,
    reason: null,
    restarts: 0,
    startedAt: '2026-01-01T00:00:00.000Z',
    memory: 3 * 1024 * 1024,
    ...more,
  }) as ContainerRecord

async function textOf(containers: readonly ContainerRecord[]): Promise<string[][]> {
  const runtime = {
    getContainers: async () => containers,
    getMe: async () => ({ time: { now: '2026-01-01T02:00:00.000Z' } }),
  }
  const selection = () => ({ env: { SELVEDGE_ACCESS_TOKEN: 'token' } })
  const context = { runtime, selection } as unknown as Context
  const result = await containerList.run(context, { args: [], options: {} })
  const lines = containerList.human!(result as never).split('\n')
  return lines.map((line) => line.trimEnd().split(/ {2,}/))
}

const port: PortRecord = { port: 1883, protocol: 'tcp', target: 1883, reach: 'loopback', problem: null }

it('shows the ports of each container, who reaches them, and why one is closed', async () => {
  const ports: PortRecord[] = [
    port,
    { ...port, port: 5683, protocol: 'udp', reach: 'network' },
    { ...port, port: 8883, reach: 'network', problem: 'another program of this device has it' },
  ]
  expect(await textOf([record('broker', { ports }), record('web')])).toEqual([
    ['id', 'state', 'uptime', 'memory', 'restarts', 'path', 'ports', 'reason'],
    [
      'c-broker',
      'running',
      '2 h',
      '3.0 MiB',
      '0',
      '/c/broker',
      '1883/tcp, 5683/udp (network), 8883/tcp (network; another program of this device has it)',
      '-',
    ],
    ['c-web', 'running', '2 h', '3.0 MiB', '0', '/c/web', '-', '-'],
  ])
})

it('has columns of ports and times only where a container has them, and shows why one does not run', async () => {
  const schedule: ContainerRecord['schedule'] = {
    nextAt: '2026-01-02T00:00:00.000Z',
    last: { at: '2026-01-01T00:00:00.000Z', outcome: 'failed', detail: null },
  } as never
  const off = { state: 'stopped', startedAt: null, memory: null } as const
  expect(await textOf([record('job', { schedule }), record('off', off)])).toEqual([
    ['id', 'state', 'uptime', 'memory', 'restarts', 'path', 'next time', 'reason'],
    ['c-job', 'running', '2 h', '3.0 MiB', '0', '/c/job', '2026-01-02T00:00:00.000Z (last: failed)', '-'],
    ['c-off', 'stopped', '-', '-', '0', '/c/off', '-', expect.stringMatching(/\w/)],
  ])
})
