/** What it costs a runtime to be observed: getMe with metrics, and with spans that are exported. */

import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../../tests/harness/processes.ts'
import { type Figures, perCpuSecond, type Row, rateRow, type Server } from '../measure.ts'

const nowhere = 'http://127.0.0.1:9'

/**
 * A runtime with settings of its own.
 *
 * @param settingsIn gets a folder that is removed with it
 */
async function startWith(settingsIn: (folder: string) => string[]): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'))
  const env = {
    SELVEDGE_STATE: folder,
    SELVEDGE_RUNTIME_PORT: '0',
    SELVEDGE_IDENTITY_URL: nowhere,
    SELVEDGE_DISCOVERY_URL: nowhere,
  }
  const runtime = await startProgram('runtime', env, settingsIn(folder))
  return {
    process: runtime.process,
    target: { host: '127.0.0.1', port: Number(new URL(runtime.url).port) },
    async stop() {
      await runtime.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A collector that accepts connections and reads nothing. */
async function startSilentCollector(): Promise<{ readonly url: string; stop(): void }> {
  const sockets: Socket[] = []
  const server = createServer({ pauseOnConnect: true }, (socket) =>
    sockets.push(socket.on('error', () => undefined)),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      for (const each of sockets) each.destroy()
      server.close()
    },
  }
}

export async function observedRows(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'))
  const bodies = join(folder, 'body')
  writeFileSync(bodies, '{"jsonrpc":"2.0","method":"getMe","params":[""],"id":1}')
  const collector = await startSilentCollector()
  const runtimes = [
    await startWith((own) => [`--metrics.listen=${join(own, 'metrics.sock')}`]),
    await startWith(() => [`--otel.endpoint=${collector.url}`]),
    await startWith(() => []),
  ]
  const load = { path: '/jsonrpc/v1', type: 'application/json', bodies, connections: 32 }
  const row = (name: string, ours: Figures, peer: Figures, wanted: number) =>
    rateRow({ name, unit: 'calls per CPU second', against: 'the same without' }, { ours, peer }, wanted)
  try {
    const [metrics, spans, without] = (await perCpuSecond(runtimes, load)) as unknown as [
      Figures,
      Figures,
      Figures,
    ]
    return [
      row('getMe with metrics', metrics, without, 0.85),
      row('getMe with spans for a collector that never reads', spans, without, 0.7),
    ]
  } finally {
    for (const each of runtimes) await each.stop()
    collector.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
