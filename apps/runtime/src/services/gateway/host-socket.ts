/** The socket of an instance: every request on it comes from its container. */
import { rmSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { hostPaths, RpcError } from '@selvedge/protocol'
import {
  attach,
  bindUnix,
  createHttpServer,
  maxConnectionsOf,
  readGuardedHeaders,
  sendJson,
} from '@selvedge/service-kit/http'
import type { Network } from '@selvedge/service-kit/network'
import { safely } from '@selvedge/service-kit/safely'
import * as z from 'zod'
import { redirectedHeader, targetHeader } from '../engines/function/control.ts'
import type { ServiceRequests } from '../service-api.ts'
import { passOut, refuseCall } from './egress.ts'
import type { Gateway } from './gateway.ts'
import type { InstanceLimit } from './instance-limit.ts'
import { readdress } from './readdress.ts'
import { refusalOf, refuseUpgrade, sendRefusal } from './refusal.ts'
import { createTunnels } from './tunnels/tunnels.ts'

/** Characters that an instance may send in a request to the runtime itself: an access token fits. */
const maxBody = 24_576
/** Milliseconds until a refusal of the limit is sent: callers that repeat a refused request at once must not cost CPU. */
const refuseAfterMs = 1000

export interface HostSocketParts {
  readonly identityToken: (audience: string) => { token: string; expiresAt: string }
  readonly outbound: readonly string[]
  readonly gateway: Gateway
  /** Proxy and authorities for requests to the outside. */
  readonly network: Network
  /** The local API. */
  readonly api: ServiceRequests
  /** Of the requests to this device, whatever answers them. */
  readonly limit: InstanceLimit
  /** Whether a URL belongs to this runtime's own listener. */
  readonly isOwnUrl: (url: URL) => boolean
}

/** Connections that one instance may have open, to the runtime and through it. */
const maxConnections = Math.min(128, maxConnectionsOf())

const identityRequest = z.object({ audience: z.string() })

/** @param path of the Unix socket; it is removed when it is closed */
export async function openHostSocket(
  path: string,
  parts: HostSocketParts,
): Promise<{ close(): Promise<void> }> {
  const server = createHttpServer({ connections: maxConnections })
  const tunnels = createTunnels(parts)
  attach(server, { request: answerOf(parts), upgrade: upgradeOf(parts), tunnel: tunnels.open })

  // An earlier run of the runtime may have left it.
  rmSync(path, { force: true })
  await bindUnix(server, path, 0o777)
  return {
    async close() {
      tunnels.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Sends a request to where it wants to go: to the outside, to this runtime, or to another service. */
function answerOf(parts: HostSocketParts): RequestListener {
  const { outbound, gateway, api, limit, isOwnUrl, network } = parts
  const own = ownPaths(parts)
  const isOwnHost = (host = '') => {
    const named = URL.parse(`http://${host}`)
    return named !== null && isOwnUrl(named)
  }
  return (request, response) => {
    if (readGuardedHeaders(request).repeated !== undefined) return refuseRepeated(response)
    const target = request.headers[targetHeader]
    // "undefined" is no URL.
    const url = URL.parse(String(target))
    if (typeof target === 'string' && !(url && isOwnUrl(url)))
      return passOut(request, response, target, outbound, { network })
    try {
      response.once('close', safely('host-socket.end', limit.begin()))
    } catch (cause) {
      return refuseLater(response, cause as RpcError)
    }
    if (url) readdress(request, url)
    // Functions have `identityToken`: for a service that fetches URLs of its callers, these paths must lead nowhere. Nor do
    // they in a container that forwards the usual address of the local API to this socket.
    else if (!isOwnHost(request.headers.host)) {
      const answer = own.get(request.url!)
      if (answer) return answerOwn(request, response, answer)
    }
    const isOfApi = api.owns(request.url!)
    const redirected = request.headers[redirectedHeader]
    // The sender of the redirect would choose the call. Services may redirect to each other.
    if (redirected !== undefined && (isOfApi || redirected !== 'same-origin'))
      return refuseCall(
        response,
        `a redirect may not lead to ${target ?? request.url}, which is on this device`,
      )
    if (isOfApi) api.request(request, response)
    else gateway.handle(request, response)
  }
}

const upgradeOf =
  ({ gateway, limit }: HostSocketParts) =>
  (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    try {
      socket.once('close', safely('host-socket.end', limit.begin()))
    } catch (cause) {
      const refuse = () => refuseUpgrade(request, socket, refusalOf(cause as RpcError))
      socket.on('error', () => socket.destroy())
      setTimeout(safely('host-socket.refuse', refuse), refuseAfterMs).unref()
      return
    }
    gateway.handleUpgrade(request, socket, head)
  }

function refuseLater(response: ServerResponse, cause: RpcError): void {
  const refuse = () => sendRefusal(response, refusalOf(cause))
  setTimeout(safely('host-socket.refuse', refuse), refuseAfterMs).unref()
}

function refuseRepeated(response: ServerResponse): void {
  const message = 'a header that decides who is asked, or who asks, came twice; send it once'
  sendRefusal(response, { status: 400, reason: 'repeated_header', message })
}

/** Answers a body. @throws RpcError */
type AnswerOwn = (body: unknown, request: IncomingMessage) => unknown

/** What only an instance itself may ask for: no request that names its URL in a header comes here, and so no redirect. */
function ownPaths({ identityToken, api }: HostSocketParts): ReadonlyMap<string, AnswerOwn> {
  const answerIdentity: AnswerOwn = (body) => {
    const asked = identityRequest.safeParse(body).data
    if (asked) return identityToken(asked.audience)
    throw new RpcError('invalid_params', 'send { "audience": "<id of a container>" }')
  }
  return new Map([
    [hostPaths.identityToken, answerIdentity],
    [hostPaths.openNodes, api.openNodes],
  ])
}

async function answerOwn(
  request: IncomingMessage,
  response: ServerResponse,
  answer: AnswerOwn,
): Promise<void> {
  if (request.method !== 'POST') {
    const headers = { Allow: 'POST' }
    sendRefusal(response, { status: 405, reason: 'method_not_allowed', message: 'send POST', headers })
    return
  }
  const body = await readJson(request)
  try {
    sendJson(response, 200, JSON.stringify(await answer(body, request)))
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause
    sendRefusal(response, refusalOf(cause))
  }
}

/** The body; undefined if it is no JSON, breaks off, or is longer than {@link maxBody} characters. Reads no more than that. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = ''
  try {
    for await (const chunk of request.setEncoding('utf8')) {
      text += chunk
      if (text.length > maxBody) return undefined
    }
    return JSON.parse(text)
  } catch {
    // It broke off, or is no JSON.
  }
  return undefined
}
