/** Proxies, and authorities in addition to those of Node. It knows no service. */
export { createNetwork, type Network, type NetworkOptions, type NetworkStatus } from './network.ts'
export { NetworkFailure, NetworkSettingError } from './network-failure.ts'
