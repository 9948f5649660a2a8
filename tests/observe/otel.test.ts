/** Telemetry of a built daemon, with a collector that records it. */
import { expect, it } from 'vitest'
import { startCollector } from '../harness/collector.ts'
import { startProgram, temporaryFolder } from '../harness/processes.ts'

const call = (method: string) => JSON.stringify({ jsonrpc: '2.0', method, id: 1 })
const kindServer = 2

it('a runtime sends spans with a link to the trace of the caller, and nothing else of it', async () => {
  const collector = await startCollector()
  const folder = await temporaryFolder()
  const env = { SELVEDGE_STATE: folder.path, SELVEDGE_RUNTIME_PORT: '0', SELVEDGE_NAME: 'name-of-device' }
  const runtime = await startProgram('runtime', env, [`--otel.endpoint=${collector.url}`])
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const headers = { 'Content-Type': 'application/json', traceparent: `00-${traceId}-b7ad6b7169203331-01` }
  const url = `${runtime.url}/jsonrpc/v1`
  const me = await (await fetch(url, { method: 'POST', headers, body: call('getMe') })).json()
  await (await fetch(`${runtime.url}/secret-path?token=secret-query`)).text()
  // The last spans are sent when it stops.
  await runtime.stop()
  collector.stop()
  await folder.remove()
  const spans = collector.spans().filter(({ kind }) => kind === kindServer)
  expect(spans).toMatchObject([{ name: 'POST /jsonrpc/v1', links: [{ traceId }] }, { name: 'GET' }])
  const all = collector.text()
  expect(all).toContain('selvedge-runtime')
  for (const private_ of [me.nodeId, 'name-of-device', 'secret-path', 'secret-query', '127.0.0.1'])
    expect(all).not.toContain(private_)
})
