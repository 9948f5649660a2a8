/** How a daemon reaches other machines: proxy, authorities, and requests by these rules. */
export {
  type Network,
  type NetworkConfig,
  type NetworkStatus,
  type OpenNetwork,
  type Outbound,
  readNetwork,
  type Usage,
} from './network.ts'
export { createOutboundFetch, type GetFetch } from './outbound-fetch.ts'
export { startRequest } from './start-request.ts'
