/** The discovery service end to end: HTTP, the signature of a session, the store; against bare node:http on the same bodies. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { discoveryPaths, maxFixes } from '@selvedge/protocol'
import { createDevice } from '../../tests/harness/device.ts'
import { createDeveloper } from '../../tests/harness/flow.ts'
import { startStack } from '../../tests/harness/processes.ts'
import {
  cpuSeconds,
  limitRow,
  type Row,
  rateRow,
  roundSeconds,
  rounds,
  runLoad,
  startPeer,
} from '../measure.ts'

const devices = 200
const requests = 4000

export async function reportRows(): Promise<Row[]> {
  const stack = await startStack({ discovery: ['--sessions.lifetime=3600'] })
  const peer = await startPeer('bare-http.ts')
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  try {
    const developer = await createDeveloper(stack.state)
    const urls = { identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url }
    const fleet = await Promise.all(Array.from({ length: devices }, () => createDevice(urls, developer)))
    const signers = await Promise.all(fleet.map((device) => device.authorize()))
    const files = { bodies: join(folder, 'bodies'), authorizations: join(folder, 'authorizations') }
    let batches = 0

    /** Signed for now: every round has its own, since a signature is good for a minute. */
    const prepare = (size: number) => {
      const bodies: string[] = []
      const authorizations: string[] = []
      const start = Date.now() - 50_000
      for (let index = 0; index < requests; index++) {
        const fixes = Array.from({ length: size }, (_, at) => ({
          longitude: 10 + (index % devices) * 0.01,
          latitude: 50 + index * 1e-6 + batches * 1e-7,
          speed: 12.5,
          bearing: 270.5,
          accuracy: 5,
          fixedAt: start + index * 10 + (at % 10),
        }))
        const body = JSON.stringify(fixes)
        bodies.push(body)
        authorizations.push(signers[index % devices]!('POST', discoveryPaths.fixes, body))
      }
      batches++
      writeFileSync(files.bodies, bodies.join('\n'))
      writeFileSync(files.authorizations, authorizations.join('\n'))
    }
    const ours = {
      target: { host: '127.0.0.1', port: Number(new URL(stack.discovery.url).port) },
      pid: stack.discovery.process.pid!,
    }
    const bare = { target: peer.target, pid: peer.process.pid! }
    const plan = {
      path: discoveryPaths.fixes,
      type: 'application/json',
      connections: 64,
      seconds: roundSeconds,
      ...files,
    }
    const rateOf = async ({ target, pid }: typeof ours | typeof bare) => {
      const before = cpuSeconds(pid)
      const { answers } = await runLoad({ ...plan, target })
      return answers / (cpuSeconds(pid) - before)
    }
    const figures: Record<'single' | 'batch', { ours: number[]; peer: number[] }> = {
      single: { ours: [], peer: [] },
      batch: { ours: [], peer: [] },
    }
    for (const [kind, size] of [
      ['single', 1],
      ['batch', maxFixes],
    ] as const) {
      for (let round = 0; round <= rounds; round++) {
        prepare(size)
        const one = { ours: await rateOf(ours), peer: await rateOf(bare) }
        // The first round is for the compiler.
        if (round === 0) continue
        figures[kind].ours.push(one.ours)
        figures[kind].peer.push(one.peer)
      }
    }
    const updates = Math.max(...figures.batch.ours) * maxFixes
    return [
      rateRow(
        {
          name: 'reports of one fix, end to end',
          unit: 'reports per second of a core',
          against: 'bare node:http',
        },
        figures.single,
        0.6,
      ),
      {
        ...limitRow(
          {
            name: 'reports of a hundred fixes, end to end',
            unit: 'updates per second of a core',
            against: 'the limit',
          },
          updates,
          100_000,
        ),
        reach: '≥ 100,000 updates per second of a core',
        reached: updates >= 100_000,
      },
    ]
  } finally {
    await peer.stop()
    await stack.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
