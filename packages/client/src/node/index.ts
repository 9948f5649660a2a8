/** What only Node can do: Unix sockets, proxies, and streams to and from the runtime. */
export { watchEvents } from './events.ts'
export {
  createNetwork,
  type Network,
  NetworkFailure,
  type NetworkOptions,
  NetworkSettingError,
  type NetworkStatus,
} from './network/index.ts'
export { createNodeFetch } from './node-fetch.ts'
export { findSocket, installedFolders, isOwn, type SocketFinding } from './own-socket.ts'
export { type RequestWay, startRequest, wayTo } from './start-request.ts'
export { authorizationOf, followLogs, type StreamConnection } from './streams.ts'
export { uploadImage } from './upload-image.ts'
