import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Listens on a free port of the loopback, or on the Unix socket of the first argument, and tells the parent where. */
export function listen(listener: RequestListener): void {
  const server = createServer(listener)
  const path = process.argv[2]
  const tell = () =>
    process.send?.(path ? { path } : { host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  if (path) server.listen(path, tell)
  else server.listen(0, '127.0.0.1', tell)
  process.on('SIGTERM', () => process.exit(0))
  process.on('disconnect', () => process.exit(0))
}
