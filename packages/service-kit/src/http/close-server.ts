import type { Server } from 'node:http'
import { safely } from '../safely/safely.ts'
import { closeAllBeside, closeIdleBeside } from './protocols.ts'

/** Milliseconds between two searches for connections that became idle. */
const searchMs = 50

/**
 * Lets a server that accepts no more connections end: those without a request at once, the others after their answer, all of them
 * after some time. Node closes only what is idle at that moment; a connection that answers later would stay open.
 *
 * @param graceMs for the requests under way
 */
export function endConnections(server: Server, graceMs: number): void {
  const closeIdle = () => {
    server.closeIdleConnections()
    closeIdleBeside(server)
  }
  const closeAll = () => {
    server.closeAllConnections()
    closeAllBeside(server)
  }
  closeIdle()
  const search = setInterval(safely('http.closeIdle', closeIdle), searchMs)
  const end = setTimeout(safely('http.closeAll', closeAll), graceMs)
  server.once(
    'close',
    safely('http.closed', () => {
      clearInterval(search)
      clearTimeout(end)
    }),
  )
}
