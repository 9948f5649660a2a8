import type { IncomingMessage } from 'node:http'

/** Makes a request that names its URL in a header one for that URL: its path, and its `Host`. */
export function readdress(request: IncomingMessage, url: URL): void {
  request.url = url.pathname + url.search
  request.headers.host = url.host
  const { rawHeaders } = request
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.toLowerCase() === 'host') rawHeaders[at + 1] = url.host
}
