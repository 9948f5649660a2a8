/**
 * Time limits of requests of this device to the services. A request may need long: on a line with 2 s from a packet to its answer and 30 % of
 * loss, a name, a connection, TLS and the request are four such times, with packets that are sent again. A caller on this device waits a
 * few seconds at most: then it gets an error, and the request continues for the callers that come later.
 */
import { waitAtMost } from '@selvedge/service-kit/share'

/** Milliseconds of a request to the identity service or the discovery service that no local caller waits for. */
export const requestLimitMs = 30_000
/** Milliseconds that a local caller waits for each request, and after which a service counts as away until it answers. */
export const waitLimitMs = 4000
/** Milliseconds for a list of revoked tokens: the first one may be large, and the network slow. */
export const listLimitMs = 60_000

export const noAnswer = (url: string, ms: number): string => `${url} did not answer within ${ms} ms`

/**
 * Shows a service as away while a request that has begun has no answer after `waitLimitMs`.
 *
 * @param link shows it
 * @returns the request
 */
export function showLate<T>(
  link: { failed(error: string): void },
  url: string,
  request: Promise<T>,
): Promise<T> {
  waitAtMost(request, waitLimitMs, () => {
    const late = noAnswer(url, waitLimitMs)
    link.failed(late)
    return new Error(late)
  })
  return request
}
