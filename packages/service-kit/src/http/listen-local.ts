import type { LocalAddress } from '../addresses/local-address.ts'
import { type Listening, listenTcp, listenUnix } from './listen.ts'
import type { Limits, Listener } from './server.ts'

/**
 * Opens a listener for programs of this machine.
 *
 * @param mode permissions of a Unix socket
 * @param listener made once the port is known; undefined on a Unix socket
 * @throws ListenError
 */
export async function listenLocal(
  where: LocalAddress,
  mode: number,
  limits: Limits,
  listener: (port: number | undefined) => Listener,
): Promise<Listening & { readonly port?: number }> {
  if ('path' in where) return listenUnix(where.path, mode, limits, listener(undefined))
  return listenTcp({ addresses: [where.address], port: where.port, authenticated: false, limits, listener })
}
