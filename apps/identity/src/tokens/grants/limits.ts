import { createLimiter, limitKeyOf, type Rate, refuseIf, takeOrRefuse } from '@selvedge/service-kit/http'
import type { SharedLimiter } from '../../storage/replicas/shared-limiter.ts'

/**
 * How often one caller is served. Addresses are counted before anything is looked at; clients, accounts and nodes once they
 * have proved themselves, so that a client cannot use up the limit of another by naming it.
 */
export interface Limits {
  /** @throws OAuthError `temporarily_unavailable` */
  takeAddress(address: string): void
  /** @throws OAuthError `temporarily_unavailable` */
  takeFor(clientId: string, accountId: string): void
  /** A new node without a code. @throws OAuthError `temporarily_unavailable` */
  takeEnrolment(address: string): Promise<void>
  /** A device that begins to join by a key. @throws OAuthError `temporarily_unavailable` */
  takeJoin(keyId: string, address: string): Promise<void>
  /** @throws OAuthError `temporarily_unavailable` */
  takeNode(nodeId: string): void
}

/**
 * @param options requests a minute of one address, client or account, and node; each may come in one burst
 * @param options.replicas how many processes share the callers
 * @param options.enrolments new nodes of one address, counted for all replicas together; `joins`: of one join key and of one address
 */
export function createLimits({
  replicas,
  enrolments,
  joins,
  ...perMinute
}: {
  readonly address: number
  readonly client: number
  readonly account: number
  readonly node: number
  readonly replicas: () => number
  readonly enrolments: SharedLimiter
  readonly joins: SharedLimiter
}): Limits {
  const limiterOf = (count: number) => createLimiter(rateOf(count), undefined, replicas)
  const addresses = limiterOf(perMinute.address)
  const clients = limiterOf(perMinute.client)
  const accounts = limiterOf(perMinute.account)
  const nodes = limiterOf(perMinute.node)
  return {
    takeAddress: (address) => takeOrRefuse(addresses, limitKeyOf(address), 'this address'),
    takeFor(clientId, accountId) {
      takeOrRefuse(clients, clientId, 'this client')
      takeOrRefuse(accounts, accountId, 'this account')
    },
    takeEnrolment: async (address) =>
      refuseIf(await enrolments.take(limitKeyOf(address)), 'new nodes from this address'),
    async takeJoin(keyId, address) {
      refuseIf(await joins.take(limitKeyOf(address)), 'devices that join from this address')
      refuseIf(await joins.take(keyId), 'devices that join by this key')
    },
    takeNode: (nodeId) => takeOrRefuse(nodes, nodeId, 'this node'),
  }
}

const rateOf = (perMinute: number): Rate => ({ burst: perMinute, perSecond: perMinute / 60 })
