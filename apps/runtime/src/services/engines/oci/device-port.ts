/** Ports of containers in the network of the device. */
import { connect } from 'node:net'
import { RpcError } from '@selvedge/protocol'

/** Milliseconds for another program to accept: on the loopback it does at once. */
const attemptMs = 500

/**
 * Another program on the port of a container would get its requests.
 *
 * @throws RpcError `container_failed`
 */
export async function expectFreePort(port: number): Promise<void> {
  const isInUse = await new Promise<boolean>((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    const end = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.setTimeout(attemptMs, () => end(true))
    socket.on('connect', () => end(true))
    socket.on('error', () => end(false))
  })
  if (!isInUse) return
  throw new RpcError('container_failed', `another program of the device listens on port ${port} (MCM.PORT)`, {
    hint: 'With MCM.NETWORK "host", the container listens on the device itself: give it another port.',
  })
}
