/**
 * One small request to a server that a user of this service named. Name servers cannot lead it into a network that it may not reach: the
 * address that is checked is the address that is connected to.
 */
import { once } from 'node:events'
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import {
  type AddressKind,
  AddressRefusedError,
  guardedLookup,
  kindOf,
  type Resolve,
} from '../addresses/addresses.ts'
import type { Outbound } from '../network/network.ts'
import { startRequest } from '../network/start-request.ts'

/** Bytes of an answer, and milliseconds for it from the name server to its last byte. */
const guardedLimits = { maxBytes: 64 * 1024, timeoutMs: 5000 } as const

export interface GuardedOptions {
  /** Whether addresses of this machine and of private networks may be connected to; over plain HTTP, those of this machine only. */
  readonly allowsPrivate: boolean
  /** Proxy and authorities; a proxy gets only names that this machine cannot resolve, or that lead to allowed addresses. */
  readonly outbound: Outbound
  /** For tests. */
  readonly resolve?: Resolve
  readonly timeoutMs?: number
}

export interface GuardedInit {
  readonly method: 'GET' | 'POST'
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface GuardedAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
}

/**
 * @returns a function that sends one request: no redirect, no compression, at most 64 KiB within 5 s
 * @throws (the function) Error with the reason and the value
 */
export function createGuardedRequest({
  allowsPrivate,
  outbound,
  resolve,
  timeoutMs = guardedLimits.timeoutMs,
}: GuardedOptions): (url: string, init: GuardedInit) => Promise<GuardedAnswer> {
  return async (text, init) => {
    const url = new URL(text)
    const isPlain = url.protocol === 'http:'
    if ((!isPlain || !allowsPrivate) && url.protocol !== 'https:')
      throw new AddressRefusedError(`${text} is not fetched: only https:// is`)
    const allowed: readonly AddressKind[] = isPlain
      ? ['loopback']
      : ['public', ...(allowsPrivate ? (['loopback', 'private'] as const) : [])]
    const mayConnect = (address: string) => allowed.includes(kindOf(address))
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !mayConnect(host))
      throw new AddressRefusedError(`${host} is an address that is not connected to: ${kindOf(host)}`)
    const signal = AbortSignal.timeout(timeoutMs)
    const request = start(url, init, {
      ...{ signal, lookup: guardedLookup(mayConnect, resolve) },
      // Plain HTTP is for this machine alone, which no proxy reaches.
      agent: outbound.agentFor(isPlain ? 'http://localhost' : url, 'foreign'),
    })
    try {
      const [response] = (await once(request.end(init.body), 'response', { signal })) as [IncomingMessage]
      return await read(response, text)
    } catch (cause) {
      // A name server of this network must not be asked what it knows by way of the message.
      if (cause instanceof AddressRefusedError)
        throw new AddressRefusedError(`${host} resolves to no address that may be connected to`)
      if (signal.aborted) throw new Error(`${text} did not answer within ${timeoutMs / 1000} s`, { cause })
      throw cause
    } finally {
      request.destroy()
    }
  }
}

function start(
  url: URL,
  { method, headers }: GuardedInit,
  options: { readonly agent: Agent; readonly lookup: LookupFunction; readonly signal: AbortSignal },
): ClientRequest {
  const request = startRequest(url, {
    ...options,
    method,
    headers: {
      accept: 'application/json',
      ...headers,
      'accept-encoding': 'identity',
      // Also the name that TLS sends, and that the certificate must have.
      host: url.host,
    },
  })
  // What comes after the answer was read, or given up, has no other listener.
  request.on('error', () => undefined)
  return request
}

/** @throws Error for a redirect, a compressed answer, or a large one; the rest is not read */
async function read(response: IncomingMessage, url: string): Promise<GuardedAnswer> {
  const { statusCode = 0, headers } = response
  if (statusCode >= 300 && statusCode < 400)
    throw new Error(`${url} answered with a redirect (HTTP ${statusCode}), which is not followed`)
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') throw new Error(`${url} answered with the encoding ${encoding.slice(0, 40)}`)
  const parts: Buffer[] = []
  let sizeBytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    sizeBytes += part.length
    if (sizeBytes > guardedLimits.maxBytes)
      throw new Error(`${url} answered with more than ${guardedLimits.maxBytes} bytes`)
    parts.push(part)
  }
  return { status: statusCode, contentType: headers['content-type'] ?? '', body: Buffer.concat(parts) }
}
