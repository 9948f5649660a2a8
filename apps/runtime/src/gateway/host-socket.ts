/** The socket of an instance: what it asks there is asked by its container, and by nobody else. */
import { rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { hostPaths, type RpcError } from '@selvedge/protocol'
import { sendJson } from '@selvedge/service-kit/http'
import { targetHeader } from '../engines/function/control.ts'
import { passOut } from './egress.ts'
import type { Gateway } from './gateway.ts'
import { refusalOf, sendRefusal } from './refusal.ts'

/** Most bytes that an instance may send in a question to the runtime itself. */
const maxBody = 4096

export interface HostSocketParts {
  readonly identityToken: (audience: string) => { token: string; expiresAt: string }
  readonly outbound: readonly string[]
  readonly gateway: Gateway
  /** Whether a URL is of this runtime's own listener. */
  readonly isOwnUrl: (url: URL) => boolean
}

/** @param path of the Unix socket; it is removed when it is closed */
export async function openHostSocket(
  path: string,
  { identityToken, outbound, gateway, isOwnUrl }: HostSocketParts,
): Promise<{ close(): Promise<void> }> {
  const server = createServer(
    { requestTimeout: 0, headersTimeout: 15_000, maxHeaderSize: 16 * 1024 },
    (request, response) => {
      const target = request.headers[targetHeader]
      if (typeof target === 'string') {
        const url = URL.parse(target)
        if (!url || !isOwnUrl(url)) return void passOut(request, response, target, outbound)
        request.url = url.pathname + url.search
      }
      if (request.url === hostPaths.identityToken) return answerIdentity(request, response)
      gateway.handle(request, response)
    },
  )
  server.on('upgrade', (request, socket, head) => gateway.handleUpgrade(request, socket, head))

  const answerIdentity: RequestListener = (request, response) => {
    if (request.method !== 'POST')
      return sendRefusal(response, {
        status: 405,
        reason: 'method_not_allowed',
        message: 'send POST',
        headers: { Allow: 'POST' },
      })
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (text.length > maxBody) request.destroy()
    })
    request.on('end', () => {
      try {
        const { audience } = JSON.parse(text) as { audience?: unknown }
        if (typeof audience !== 'string') throw new SyntaxError('no audience')
        sendJson(response, 200, JSON.stringify(identityToken(audience)))
      } catch (cause) {
        if (!(cause instanceof SyntaxError)) return sendRefusal(response, refusalOf(cause as RpcError))
        sendRefusal(response, {
          status: 400,
          reason: 'invalid_params',
          message: 'send { "audience": "<id of a container>" }',
        })
      }
    })
  }

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
