/**
 * A daemon whose ordinary requests block its event loop; started by a test. Its first line is its URL. Its argument is the
 * number of connections that it allows.
 */
import { createHttpApp, listenApp } from '@selvedge/service-kit/http-app'
import { createLog } from '@selvedge/service-kit/log'

const log = createLog({ service: 'blocking', level: 'error', now: Date.now })
const app = createHttpApp(log, 65_536, {
  vital: ['/vital'],
  limits: process.argv[2] === undefined ? {} : { connections: Number(process.argv[2]) },
})
app.get('/vital', async () => ({ status: 'ok' }))
app.post('/ordinary', async () => {
  for (const end = performance.now() + 3; performance.now() < end; );
  return { status: 'ok' }
})
/** An answer that begins and does not end. */
app.get('/endless', (_request, reply) => {
  reply.hijack()
  reply.raw.writeHead(200).write('begun')
})
await listenApp(app, '127.0.0.1', 0, 'the port', (url) => process.stdout.write(`${url}\n`))
