import type { LocalAddress } from '../addresses/local-address.ts'
import { type Listening, listenTcp, listenUnix } from './listen.ts'
import type { Limits, Listener } from './server.ts'

/**
 * Opens a listener for programs of this machine: on `localhost` at both addresses, with the same port, unless the machine has no IPv6.
 *
 * @param mode permissions of a Unix socket
 * @param setting what sets the address, for people
 * @param listener made once the port is known; undefined on a Unix socket
 * @throws ListenError
 */
export async function listenLocal(
  where: LocalAddress,
  mode: number,
  setting: string,
  limits: Limits,
  listener: (port: number | undefined) => Listener,
): Promise<Listening & { readonly port?: number }> {
  if ('path' in where) return listenUnix(where.path, mode, limits, listener(undefined))
  const { addresses, port } = where
  return listenTcp({
    addresses,
    port,
    portSetting: setting,
    limits,
    listener,
  })
}
