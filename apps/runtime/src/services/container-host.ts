/** What the runtime does for one container: tokens that identify it, and a socket on which it reaches other services and the network. */
import { randomUUID } from 'node:crypto'
import { outboundOf, RpcError } from '@selvedge/protocol'
import type { Network } from '@selvedge/service-kit/network'
import type { ContainerParts } from './containers/containers.ts'
import type { DeploymentStore } from './deployments/deployments.ts'
import { idOf, ofAccount } from './deployments/ownership.ts'
import type { Gateway } from './gateway/gateway.ts'
import { openHostSocket } from './gateway/host-socket.ts'
import { createInstanceLimit } from './gateway/instance-limit.ts'
import type { ServiceIdentity } from './gateway/service-identity.ts'
import type { OpenServiceApi } from './service-api.ts'

export interface ContainerHostParts {
  readonly store: Pick<DeploymentStore, 'value'>
  readonly identity: ServiceIdentity
  readonly gateway: Gateway
  /** The local API for one instance. */
  readonly openApi: OpenServiceApi
  /** URL of the local API, once it listens. */
  readonly url: () => string
  /** Proxy and authorities for what services call. */
  readonly network: Network
}

export function createContainerHosts(parts: ContainerHostParts): ContainerParts['hostFor'] {
  const { identity, gateway, openApi, url, network } = parts
  return (key) => {
    const identityToken = (audience: string) => {
      const { containers } = parts.store.value
      const { [key]: own } = containers
      const others = own ? ofAccount(containers, own.accountId) : []
      if (!own || !others.some(([, other]) => idOf(other) === audience))
        throw new RpcError(
          'not_found',
          `there is no container ${JSON.stringify(audience.slice(0, 200))} to be known to`,
        )
      return identity.issue({ sub: idOf(own), client_id: own.clientId, account_id: own.accountId }, audience)
    }
    return {
      identityToken,
      serve(path, { id, settings, content }) {
        const limit = createInstanceLimit()
        return openHostSocket(path, {
          identityToken,
          outbound: outboundOf(settings['MCM.OUTBOUND'], content.kind),
          ...{ gateway, network: network.for('functions') },
          api: openApi({ id, settings, instance: randomUUID(), countCall: limit.take }),
          limit,
          isOwnUrl: (asked) => isOwn(asked, url()),
        })
      },
    }
  }
}

/** Port at which images of this API family expect the local API. It leads there whatever the real port is. */
const usualPort = '8083'

/** A service may spell the loopback as it likes. */
const isOwn = ({ hostname, port, protocol }: URL, own: string): boolean =>
  (port === usualPort || port === new URL(own).port) &&
  (protocol === 'http:' || protocol === 'https:') &&
  ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
