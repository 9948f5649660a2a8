import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import type { AddressSet } from '../addresses/address-set.ts'

/**
 * The address that a request came from: that of the connection, or what a trusted proxy reports. Only the last entry of X-Forwarded-For comes from
 * the proxy; the caller can forge all others.
 */
export function addressOf(request: IncomingMessage, trustedProxies: AddressSet): string {
  const peer = plain(request.socket.remoteAddress ?? '')
  if (!trustedProxies.includes(peer)) return peer
  const forwarded = request.headers['x-forwarded-for']
  const last = String([forwarded].flat().at(-1) ?? '')
    .split(',')
    .at(-1)!
    .trim()
  return last ? plain(last) : peer
}

const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '')

/**
 * The key of rate limits: an IPv4 address, or the /64 network that one IPv6 subscriber gets. Both addresses of the loopback are this machine,
 * and have one key.
 */
export function limitKeyOf(address: string): string {
  if (!isIPv6(address)) return address
  const groups = expand(address)
  return groups.join(':') === '0:0:0:0:0:0:0:1' ? '127.0.0.1' : groups.slice(0, 4).join(':')
}

function expand(address: string): string[] {
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const left = head.split(':').filter(Boolean)
  const right = tail?.split(':').filter(Boolean) ?? []
  return [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right]
}
