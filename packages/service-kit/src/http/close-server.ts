import type { Server } from 'node:http'
import { safely } from '../safely/safely.ts'

/** Milliseconds between two searches for connections that became idle. */
const searchMs = 50

/**
 * Lets a server that accepts no more connections end: those without a request at once, the others after their answer, all of them
 * after some time. Node closes only what is idle at that moment; a connection that answers later would stay open.
 *
 * @param graceMs for the requests under way
 */
export function endConnections(server: Server, graceMs: number): void {
  server.closeIdleConnections()
  const search = setInterval(
    safely('http.closeIdle', () => server.closeIdleConnections()),
    searchMs,
  )
  const end = setTimeout(
    safely('http.closeAll', () => server.closeAllConnections()),
    graceMs,
  )
  server.once(
    'close',
    safely('http.closed', () => {
      clearInterval(search)
      clearTimeout(end)
    }),
  )
}
