/** Answers that are no service's: networks that want a person to sign in answer whatever is requested with a page, or lead there. */
import type { IncomingHttpHeaders } from 'node:http'
import { NetworkFailure, shownText } from './network-failure.ts'
import { isLocal } from './no-proxy.ts'

interface Head {
  readonly statusCode?: number | undefined
  readonly headers: IncomingHttpHeaders
}

/** @returns why the answer of a service elsewhere is a page; undefined: it may be the service's */
export function signInPage(text: string, { statusCode = 0, headers }: Head): NetworkFailure | undefined {
  const url = new URL(text)
  if (isLocal(url)) return undefined
  const location = statusCode >= 300 && statusCode < 400 ? headers.location : undefined
  const target = location === undefined ? undefined : URL.parse(location, url.href)
  // A service that is reached by TLS alone leads there.
  const isEncryption = target?.hostname === url.hostname && target.protocol !== url.protocol
  const isPage = statusCode < 400 && (headers['content-type'] ?? '').includes('html')
  if (statusCode !== 511 && !isPage && (location === undefined || isEncryption)) return undefined
  const where = location === undefined ? '' : ` that leads to ${shownText(target?.host || location, 100)}`
  return new NetworkFailure(
    'sign_in_page',
    `${url.host} answered with a page (HTTP ${statusCode})${where}, as networks do that want a person to sign in: open a web page in a browser on this network first, or check that this is the address of the service`,
  )
}
