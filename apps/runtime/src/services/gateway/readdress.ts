import type { IncomingMessage } from 'node:http'
import { setHost } from '@selvedge/service-kit/http'

/** Makes a request that names its URL in a header one for that URL: its path, and its `Host`. */
export function readdress(request: IncomingMessage, url: URL): void {
  request.url = url.pathname + url.search
  setHost(request, url.host)
}
