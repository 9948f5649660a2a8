/** What the network can reach on this machine, and whether services are addressed over TLS. */
import { readFileSync } from 'node:fs'
import { type Check, checksOf, failed } from './check.ts'
import { isLoopback } from './settings.ts'

/** Ports of the daemons by default. */
const usualPorts: Readonly<Record<number, string>> = { 8083: 'runtime', 8084: 'identity', 8085: 'discovery' }

export interface Listener {
  /** As the kernel writes it: hexadecimal digits. */
  readonly address: string
  readonly port: number
}

/** Of Linux; other systems have no such files. */
const listenerFiles = process.platform === 'linux' ? ['/proc/net/tcp', '/proc/net/tcp6'] : []

/** Listening TCP sockets of this network namespace. Empty on a system without these files. */
export function readListeners(files: readonly string[] = listenerFiles): Listener[] {
  return files.flatMap((path) => {
    let text: string
    try {
      text = readFileSync(path, 'utf8')
    } catch {
      return []
    }
    return text
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state]) => state === '0A')
      .map(([, local = '']) => {
        const [address = '', port = ''] = local.split(':')
        return { address, port: Number.parseInt(port, 16) }
      })
  })
}

/** 127.0.0.0/8, ::1 and ::ffff:127.0.0.0/104, in the byte order of the kernel on little-endian machines. */
const isLoopbackAddress = (address: string): boolean =>
  /^[0-9A-F]{6}7F$/.test(address) ||
  /^0{24}01000000$/.test(address) ||
  /^0{16}FFFF0000[0-9A-F]{6}7F$/.test(address)

/** Plain HTTP ports of the daemons that other machines can reach. */
export function checkListeners(listeners: readonly Listener[]): readonly Check[] {
  const open = listeners.filter(
    ({ address, port }) => usualPorts[port] !== undefined && !isLoopbackAddress(address),
  )
  const ports = [...new Set(open.map(({ port }) => port))]
  return checksOf(
    'ports',
    ports.map((port) =>
      failed(
        'ports',
        `other machines reach port ${port}, where the ${usualPorts[port]} service listens by default`,
        port === 8083
          ? 'Listen on the loopback interface, or check that listen.tlsCert, listen.tlsKey and apiKey are set.'
          : 'Listen on the loopback interface (listen.address localhost) behind a TLS proxy, or close the port in the firewall.',
      ),
    ),
    'no port of the daemons is open to the network',
  )
}

/** @param urls of the services that are in use, by name */
export function checkUrls(urls: Readonly<Record<string, string | undefined>>): readonly Check[] {
  const findings = Object.entries(urls).flatMap(([name, url]) => {
    if (url === undefined || !URL.canParse(url)) return []
    const { protocol, hostname } = new URL(url)
    if (protocol === 'https:') return []
    const host = hostname.replace(/^\[|\]$/g, '')
    return [
      failed(
        'tls',
        isLoopback(host)
          ? `the ${name} service is used at ${url}, an address of this machine: only programs here can reach it`
          : `the ${name} service is used at ${url}: tokens can be read on the way`,
        `Give the ${name} service a name and a certificate (a TLS proxy), and configure its URL with https://.`,
      ),
    ]
  })
  return checksOf('tls', findings, 'the services are used over TLS')
}
