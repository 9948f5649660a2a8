/** The socket of an instance: every request on it comes from its container. */
import { rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { hostPaths, RpcError } from '@selvedge/protocol'
import {
  attach,
  createHttpServer,
  maxConnectionsOf,
  readGuardedHeaders,
  sendJson,
} from '@selvedge/service-kit/http'
import * as z from 'zod'
import { targetHeader } from '../engines/function/control.ts'
import { passOut } from './egress.ts'
import type { Gateway } from './gateway.ts'
import { refusalOf, sendRefusal } from './refusal.ts'

/** Characters that an instance may send in a request to the runtime itself. */
const maxBody = 4096

export interface HostSocketParts {
  readonly identityToken: (audience: string) => { token: string; expiresAt: string }
  readonly outbound: readonly string[]
  readonly gateway: Gateway
  /** Whether a URL belongs to this runtime's own listener. */
  readonly isOwnUrl: (url: URL) => boolean
}

/** Connections that one instance may have open. */
const maxConnections = Math.min(128, maxConnectionsOf())

const identityRequest = z.object({ audience: z.string() })

/** @param path of the Unix socket; it is removed when it is closed */
export async function openHostSocket(
  path: string,
  parts: HostSocketParts,
): Promise<{ close(): Promise<void> }> {
  const { outbound, gateway, isOwnUrl } = parts
  const server = createHttpServer({ connections: maxConnections })
  attach(server, {
    request: (request, response) => {
      if (readGuardedHeaders(request).repeated !== undefined) return refuseRepeated(response)
      const target = request.headers[targetHeader]
      if (typeof target === 'string') {
        const url = URL.parse(target)
        if (!url || !isOwnUrl(url)) return passOut(request, response, target, outbound)
        request.url = url.pathname + url.search
      }
      if (request.url === hostPaths.identityToken) return answerIdentity(request, response, parts)
      gateway.handle(request, response)
    },
    upgrade: gateway.handleUpgrade,
  })

  // An earlier run of the runtime may have left it. By umask, since chmod would follow what is put in its place.
  rmSync(path, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    const before = process.umask(0)
    server.listen(path, resolve)
    process.umask(before)
  })
  return {
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function refuseRepeated(response: ServerResponse): void {
  const message = 'a header that decides who is asked, or who asks, came twice; send it once'
  sendRefusal(response, { status: 400, reason: 'repeated_header', message })
}

/** Answers `{ "audience": "<id of a container>" }` with a token that names the asking container. */
async function answerIdentity(
  request: IncomingMessage,
  response: ServerResponse,
  { identityToken }: HostSocketParts,
): Promise<void> {
  if (request.method !== 'POST') {
    const headers = { Allow: 'POST' }
    sendRefusal(response, { status: 405, reason: 'method_not_allowed', message: 'send POST', headers })
    return
  }
  const text = await readText(request)
  const asked = text === undefined ? undefined : identityRequest.safeParse(parseJson(text)).data
  if (!asked) {
    const message = 'send { "audience": "<id of a container>" }'
    sendRefusal(response, { status: 400, reason: 'invalid_params', message })
    return
  }
  try {
    sendJson(response, 200, JSON.stringify(identityToken(asked.audience)))
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause
    sendRefusal(response, refusalOf(cause))
  }
}

/** The body as text, or undefined if it is longer than {@link maxBody} characters. Reads no more than that. */
async function readText(request: IncomingMessage): Promise<string | undefined> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxBody) return undefined
  }
  return text
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
