import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../../tests/harness/processes.ts'
import { type Figures, median, perCpuSecond, type Row, rateRow, type Server, startPeer } from '../measure.ts'

const call = '{"jsonrpc":"2.0","method":"getMe","params":[""],"id":1}'
const unit = 'calls per CPU second'

/** getMe, alone, in batches and over the Unix socket, against what costs least and against what checks least. */
export async function rpcRows(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'))
  const single = join(folder, 'single')
  const batch = join(folder, 'batch')
  writeFileSync(single, call)
  writeFileSync(batch, `[${Array(100).fill(call).join(',')}]`)
  const nowhere = 'http://127.0.0.1:9'
  const env = {
    SELVEDGE_STATE: folder,
    SELVEDGE_RUNTIME_PORT: '0',
    SELVEDGE_IDENTITY_URL: nowhere,
    SELVEDGE_DISCOVERY_URL: nowhere,
  }
  const runtime = await startProgram('runtime', env)
  const tcp: Server = {
    process: runtime.process,
    target: { host: '127.0.0.1', port: Number(new URL(runtime.url).port) },
    stop: () => runtime.stop(),
  }
  const unix: Server = { ...tcp, target: { path: join(folder, 'runtime.sock') } }
  const peers = ['jayson.ts', 'json-rpc-2.0.ts'] as const
  const bare = await startPeer('bare-http.ts')
  const overTcp = await Promise.all(peers.map((script) => startPeer(script)))
  const overUnix = await Promise.all(
    peers.map((script) => startPeer(script, [join(folder, `${script}.sock`)])),
  )
  const plan = (bodies: string) => ({
    path: '/jsonrpc/v1',
    type: 'application/json',
    bodies,
    connections: 32,
  })
  const versus = async (name: string, ours: Server, others: readonly Server[], bodies: string, each = 1) => {
    const figures = (await perCpuSecond([ours, ...others], plan(bodies))).map((all) =>
      all.map((one) => one * each),
    )
    const [own, first, second] = figures as unknown as [Figures, Figures, Figures]
    const firstIsBetter = median(first) > median(second)
    const against = `${firstIsBetter ? 'jayson' : 'json-rpc-2.0'}, the better of jayson and json-rpc-2.0`
    return rateRow({ name, unit, against }, { ours: own, peer: firstIsBetter ? first : second }, 1)
  }
  try {
    const [own, least] = (await perCpuSecond([tcp, bare], plan(single))) as unknown as [Figures, Figures]
    return [
      rateRow(
        { name: 'getMe', unit, against: 'bare node:http answering a constant' },
        { ours: own, peer: least },
        0.85,
      ),
      await versus('getMe', tcp, overTcp, single),
      await versus('getMe in batches of 100', tcp, overTcp, batch, 100),
      await versus('getMe over the Unix socket', unix, overUnix, single),
    ]
  } finally {
    for (const server of [tcp, bare, ...overTcp, ...overUnix]) await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
