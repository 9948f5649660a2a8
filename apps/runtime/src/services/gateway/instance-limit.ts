/**
 * Limits the requests of one instance to its own device: the local API, identity tokens, other services, itself. A service that calls
 * itself in a loop is refused before it uses the CPU of other callers.
 */
import { RpcError } from '@selvedge/protocol'
import { createLimiter, type Rate } from '@selvedge/service-kit/http'
import { createWorkCount, type EndWork } from '@selvedge/service-kit/work'

/** Requests, and further calls of a batch. */
export const instanceRate: Rate = { burst: 1000, perSecond: 500 }
/** Requests of one instance that are under way at the same time. */
export const maxUnderWay = 64

export interface InstanceLimit {
  /**
   * Counts a request.
   *
   * @returns what to call when its answer is complete
   * @throws RpcError `busy`
   */
  begin(): EndWork
  /** Counts work within a request, such as one more call of a batch. @throws RpcError `busy` */
  take(): void
}

/** @param now monotonic milliseconds */
export function createInstanceLimit(now?: () => number): InstanceLimit {
  const limiter = createLimiter(instanceRate, now)
  const requests = createWorkCount()
  const take = () => {
    if (limiter.take('') > 0) throw tooOften
  }
  return {
    take,
    begin() {
      if (requests.underWay >= maxUnderWay) throw tooMany
      take()
      return requests.begin()
    },
  }
}

/** Created once: most of the cost of a refusal would be the stack trace. */
const tooMany = new RpcError(
  'busy',
  `the service has ${maxUnderWay} requests to this device under way; more are refused`,
)
const tooOften = new RpcError(
  'busy',
  `the service calls this device more than ${instanceRate.perSecond} times a second; send it again later`,
)
