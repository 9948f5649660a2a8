/**
 * Interfaces that standard libraries import and that lead nowhere here: a file system without folders, and sockets that cannot be
 * opened. Their resources are never made, so their methods need no code.
 */
import { Refusal } from './failure.ts'

class Descriptor {}
class DirectoryEntryStream {}
class Network {}
class TcpSocket {}
class UdpSocket {}
class IncomingDatagramStream {}
class OutgoingDatagramStream {}
class ResolveAddressStream {}

/** `error-code` of `wasi:sockets/network`. */
const denied = (): never => {
  throw new Refusal('access-denied')
}

export const closedInterfaces = {
  'wasi:filesystem/preopens': { getDirectories: () => [] },
  'wasi:filesystem/types': { Descriptor, DirectoryEntryStream, filesystemErrorCode: () => undefined },
  'wasi:sockets/network': { Network, networkErrorCode: () => undefined },
  'wasi:sockets/instance-network': { instanceNetwork: () => new Network() },
  'wasi:sockets/tcp': { TcpSocket },
  'wasi:sockets/tcp-create-socket': { createTcpSocket: denied },
  'wasi:sockets/udp': { UdpSocket, IncomingDatagramStream, OutgoingDatagramStream },
  'wasi:sockets/udp-create-socket': { createUdpSocket: denied },
  'wasi:sockets/ip-name-lookup': { ResolveAddressStream, resolveAddresses: denied },
}
