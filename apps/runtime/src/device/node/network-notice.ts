/** Shows a person that the proxy, a certificate or the file of authorities cannot be used. */
import type { Network } from '@selvedge/service-kit/network'
import type { Notices } from './notices.ts'

/** @returns to be called after requests to the services: raises the notice with the cause in the log, or clears it */
export function createNetworkNotice(network: Pick<Network, 'status'>, notices: Notices): () => void {
  return () => {
    const { problem } = network.status()
    if (problem === undefined) notices.clear('network_unusable')
    else notices.raise('network_unusable', { problem })
  }
}
