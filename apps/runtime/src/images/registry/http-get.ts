import { request as httpRequest, type IncomingMessage } from 'node:http'
import { RpcError } from '@selvedge/protocol'

/** Milliseconds without a byte after which a registry counts as gone. */
const patience = 30_000
const maxRedirects = 5

/**
 * GET with redirects, as registries send them to blob stores. Credentials stay with the host they were meant for.
 *
 * @throws RpcError `registry_unavailable`
 */
export async function httpGet(
  url: string,
  headers: Readonly<Record<string, string>>,
  redirects = maxRedirects,
): Promise<IncomingMessage> {
  const response = await send(url, headers)
  const { statusCode = 0 } = response
  const { location } = response.headers
  if (statusCode < 300 || statusCode >= 400 || location === undefined) return response
  response.resume()
  if (redirects === 0) throw unavailable(url, 'it redirects too often')
  const next = new URL(location, url)
  const { protocol, host } = new URL(url)
  if (protocol === 'https:' && next.protocol !== 'https:')
    throw unavailable(url, `it redirects to ${next.origin}, which is not encrypted`)
  const { Authorization: _, ...others } = headers
  return httpGet(next.href, next.host === host ? headers : others, redirects - 1)
}

function send(url: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const start = url.startsWith('https:') ? process.getBuiltinModule('node:https').request : httpRequest
    const request = start(url, { headers, timeout: patience, agent: false }, resolve)
    request.on('timeout', () => request.destroy(new Error(`nothing came for ${patience / 1000} s`)))
    request.on('error', (cause) => reject(unavailable(url, (cause as Error).message, cause)))
    request.end()
  })
}

export const unavailable = (url: string, why: string, cause?: unknown): RpcError =>
  new RpcError('registry_unavailable', `${new URL(url).host}: ${why}`, { cause })

/** A small answer as text. */
export async function readText(response: IncomingMessage, limit = 4 * 1024 * 1024): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    size += (chunk as Buffer).length
    if (size > limit)
      throw new RpcError('invalid_image', `the registry sent a document larger than ${limit} bytes`)
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString()
}
