import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { singleHeader } from './single-header.ts'

/** What the header may hold: nothing that a log, a header or a terminal could read as something else. */
const acceptable = /^[\w-]{1,64}$/
const header = 'x-request-id'
const known = Symbol('request id')

type Identified = Pick<IncomingMessage, 'rawHeaders'> & { [known]?: string }

/**
 * The ID of a request, by which its caller finds it in the log: the caller's own `X-Request-Id` if that is 1 to 64 letters, digits,
 * `_` and `-`, and came once; otherwise a new one in the form of a UUID. It proves nothing, and two requests may have the same one.
 */
export function requestIdOf(request: Identified): string {
  return (request[known] ??= ownIdOf(request.rawHeaders) ?? newId())
}

const firstCount = 0x1000_0000
const lastCount = 0x7fff_ffff

/** Some 90 random bits, and the number of the request in 8 digits: a random ID for each request would cost 1.5 % of a cheap call. */
function createIds(): () => string {
  let random = ''
  let count = lastCount
  return () => {
    if (count++ === lastCount) {
      random = randomUUID().slice(0, -8)
      count = firstCount
    }
    return `${random}${count.toString(16)}`
  }
}

const newId = createIds()

function ownIdOf(rawHeaders: readonly string[]): string | undefined {
  const found = singleHeader(rawHeaders, header)
  return found !== undefined && acceptable.test(found) ? found : undefined
}
