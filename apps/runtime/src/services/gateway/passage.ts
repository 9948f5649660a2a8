/** What the proxy needs to forward a request that was admitted. */
import type { IncomingMessage } from 'node:http'
import { RpcError } from '@selvedge/protocol'
import { requestIdOf } from '@selvedge/service-kit/http'
import { inBackground } from '@selvedge/service-kit/safely'
import type { LastingAnswers } from '../../device/tokens/lasting.ts'
import type { Running } from '../containers/instances.ts'
import { speaksHttp2 } from '../engines/speaks-http2.ts'
import { acceptsTrailers } from './accepts-trailers.ts'
import type { Admit, Admitted } from './admit.ts'
import { requestHeaders } from './headers.ts'
import type { OwnPlace } from './own-redirect.ts'
import { provenRequest } from './proven-request.ts'
import type { Target } from './target.ts'

export interface Passage {
  readonly running: Running
  /** Path and query for the service. */
  readonly path: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly sandboxed: boolean
  /** Where the service is, for its redirects. */
  readonly place?: OwnPlace | undefined
  /** Whether the service gets HTTP/2. */
  readonly speaksHttp2: boolean
  /** Whether the client reads trailers. */
  readonly wantsTrailers: boolean
  /** Whether the caller is a client of events. */
  readonly isOfEvents: boolean
  /** The ID of the request, for the service, the caller and the log. */
  readonly requestId: string
  /** Milliseconds in which the answer must begin. */
  readonly limitMs: number
  readonly onOverrun: () => void
  /** Calls `end` when the caller loses its access. @returns what to call after the answer */
  readonly endWithCaller: (end: (cause: RpcError) => void) => () => void
}

export interface PassageParts {
  readonly admit: Admit
  readonly lasting: LastingAnswers
  /** The associated account, or "". */
  readonly accountId: () => string
}

/** @param caller undefined if the service is public */
export function passageOf(
  { admit, lasting, accountId }: PassageParts,
  request: IncomingMessage,
  { match, path, isOfEvents = false }: Target,
  caller: Admitted | undefined,
  running: Running,
): Passage {
  const { route, prefix, rest } = match
  const { container, settings, service } = route
  const expectAllowed = () => {
    caller?.expectStillValid()
    if (container.accountId !== accountId())
      throw new RpcError('not_associated', 'the account of the service has left this runtime')
  }
  const verifyAgain = async () => admit(route, provenRequest(request))
  const requestId = requestIdOf(request)
  return {
    running,
    isOfEvents,
    requestId,
    path: rest + path.query,
    headers: requestHeaders(request.rawHeaders, {
      caller,
      prefix,
      forwardToken: settings['MCM.FORWARD_TOKEN'],
      from: request.socket.remoteAddress ?? '',
      proto: 'encrypted' in request.socket ? 'https' : 'http',
      requestId,
      isOfEvents,
    }),
    speaksHttp2: speaksHttp2(running),
    wantsTrailers: request.headers.te !== undefined && acceptsTrailers(request.headers.te),
    sandboxed: settings['MCM.PAGES'] === 'sandboxed',
    place: {
      prefix,
      clientId: container.clientId,
      host: request.headers.host ?? '',
      port: settings['MCM.PORT'],
    },
    limitMs: settings['MCM.MAX_EXECUTION_TIME_SEC'] * 1000,
    endWithCaller: (end) => lasting.watch({ expectAllowed, verifyAgain, end }),
    onOverrun: () => inBackground('gateway.overrun', service.overran(running)),
  }
}
