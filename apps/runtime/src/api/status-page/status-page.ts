/**
 * The status page at `/`: what getMe shows, for a person in front of the device, without a token.
 *
 * Pages of trusted services have the same origin. So that they gain nothing from this page, it gets an opaque origin (a sandbox
 * without `allow-same-origin`: no other page can read it), it is sent only to a browser that opens it in a tab of its own (never to
 * `fetch`, a frame or a service worker), and no cache stores it. Its calls carry the nonce that only its HTML contains.
 */
import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createDocument, script, style } from './document.ts'

/** @returns whether the request was for the page and was answered */
export type StatusPage = (request: IncomingMessage, response: ServerResponse) => boolean

const sha256 = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`

/** Source of a directive that allows nothing. */
const nothing = "'none'"

const policy = [
  'sandbox allow-scripts',
  `default-src ${nothing}`,
  `script-src ${sha256(script)}`,
  `style-src ${sha256(style)}`,
  'img-src data:',
  "connect-src 'self'",
  `base-uri ${nothing}`,
  `form-action ${nothing}`,
  `frame-ancestors ${nothing}`,
  "require-trusted-types-for 'script'",
].join('; ')

/** @param pageNonce of this start; calls of the page carry it */
export function createStatusPage(pageNonce: string): StatusPage {
  let page: Buffer | undefined

  return (request, response) => {
    const { url = '', method, headers } = request
    if (!(url === '/' || url.startsWith('/?')) || !(method === 'GET' || method === 'HEAD')) return false
    if (!isOpenedInTab(headers)) return false
    page ??= Buffer.from(createDocument(pageNonce))
    response.writeHead(200, {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Length': page.length,
      'Cache-Control': 'no-store',
      'Content-Security-Policy': policy,
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
    })
    response.end(method === 'HEAD' ? undefined : page)
    return true
  }
}

/** A page cannot set these headers, so no script can request the document and read it. Programs get what they got before: JSON. */
const isOpenedInTab = ({ accept = '', ...headers }: IncomingMessage['headers']): boolean =>
  headers['sec-fetch-mode'] === 'navigate' &&
  headers['sec-fetch-dest'] === 'document' &&
  headers['service-worker'] === undefined &&
  accept.includes('text/html')
