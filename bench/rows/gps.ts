import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { accessToken, createDeveloper, runtimeOf } from '../../tests/harness/flow.ts'
import { startStack } from '../../tests/harness/processes.ts'
import { median, type Row, roundSeconds, rounds, runLoad, type Server, startPeer } from '../measure.ts'

/** updateGps with the same token: durable here and accepted by the discovery service, against the same without either. */
export async function gpsRows(): Promise<Row[]> {
  const stack = await startStack()
  const token = await accessToken(stack, await createDeveloper(stack.state))
  await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
  const bodies = join(stack.state, 'bodies')
  const params = [token, '-123.1', '49.2', '10', '90']
  writeFileSync(bodies, JSON.stringify({ jsonrpc: '2.0', method: 'updateGps', params, id: 1 }))
  const ours: Server['target'] = { host: '127.0.0.1', port: Number(new URL(stack.runtime.url).port) }
  const peer = await startPeer('gps-without-storage.ts', [stack.identity.url])
  const plan = {
    path: '/jsonrpc/v1',
    type: 'application/json',
    bodies,
    connections: 32,
    seconds: roundSeconds,
  }
  const rates = { ours: [] as number[], peer: [] as number[] }
  const slow: number[] = []
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [name, target] of [
        ['ours', ours],
        ['peer', peer.target],
      ] as const) {
        const { answers, seconds } = await runLoad({ ...plan, target })
        rates[name].push(answers / seconds)
      }
      slow.push((await runLoad({ ...plan, target: ours, rate: 1000 })).p99)
    }
    const rate = { ours: median(rates.ours), peer: median(rates.peer) }
    const p99 = median(slow)
    return [
      {
        name: 'updateGps, durable and published',
        ours: rate.ours,
        peer: rate.peer,
        ratio: rate.ours / rate.peer,
        unit: 'calls per second, 32 at once, whole stack on this machine',
        against: 'the same endpoint without storage and discovery',
        reach: 'reported',
        reached: null,
      },
      {
        name: 'updateGps, p99 at 1,000 calls per second',
        ours: p99,
        peer: 25,
        ratio: p99 / 25,
        unit: 'ms',
        against: 'the limit',
        reach: '≤ 25 ms',
        reached: p99 <= 25,
      },
    ]
  } finally {
    await peer.stop()
    await stack.stop()
  }
}
