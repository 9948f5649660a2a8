/** Servers and proxies that want a certificate of their client, and files that do not have one. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request, type ServerOptions } from 'node:https'
import type { AddressInfo, LookupFunction } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Issued, makeAuthority, type TestAuthority } from '../../../../../tests/harness/authority.ts'
import { startConnectProxy } from '../../../../../tests/harness/connect-proxy.ts'
import { needs } from '../../../../../tests/harness/installed.ts'
import {
  clientCertificateProblem,
  readClientCertificate,
  readClientCertificates,
} from './client-certificates.ts'
import { createNetwork, type Network } from './network.ts'
import type { Use } from './openers.ts'

const folder = mkdtempSync(join(tmpdir(), 'client-certificates-'))
afterAll(() => rmSync(folder, { recursive: true }))
const at = (name: string) => join(folder, name)
const write = (name: string, ...texts: string[]) => {
  writeFileSync(at(name), texts.join(''))
  return at(name)
}

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

describe('the setting', () => {
  it('names a file for a host, or for one of its ports, which comes first', () => {
    const { pathFor } = readClientCertificates([
      'Registry.example=/any.pem',
      ' registry.example:5000=/own.pem ',
      '[::1]:5000=/six.pem',
      '10.0.0.5=relative=name.pem',
    ])
    expect(pathFor('registry.example', 443)).toBe('/any.pem')
    expect(pathFor('REGISTRY.example', 5000)).toBe('/own.pem')
    expect(pathFor('::1', 5000)).toBe('/six.pem')
    expect(pathFor('::1', 5001)).toBeUndefined()
    expect(pathFor('10.0.0.5', 1)).toBe('relative=name.pem')
    expect(pathFor('other.registry.example', 443)).toBeUndefined()
    expect(pathFor('example', 443)).toBeUndefined()
  })

  it.each([
    '',
    '/a.pem',
    'host=',
    'host= ',
    '=file',
    'host:0x1=file',
    'host:65536=file',
    'host:=file',
    '::1=file',
    'a b=file',
    'https://host=file',
    `host=${'a'.repeat(4096)}`,
    'host\n=file',
  ])('%j is an error', (text) => {
    expect(() => readClientCertificates([text])).toThrow('network.clientCertificates has "')
    expect(() => readClientCertificates([text])).toThrow('expected a host, perhaps with a port, and a file')
  })

  it('has entries of up to 4096 characters', () => {
    const entry = (length: number) => `host=${'a'.repeat(length - 5)}`
    expect(readClientCertificates([entry(4096)]).pathFor('host', 1)).toBe('a'.repeat(4091))
    expect(() => readClientCertificates([entry(4097)])).toThrow('expected a host')
  })

  it('has a limit', () => {
    const entries = Array.from({ length: 101 }, (_, index) => `host${index}:65535=/a`)
    expect(readClientCertificates(entries.slice(1)).pathFor('host100', 65_535)).toBe('/a')
    expect(() => readClientCertificates(entries)).toThrow('has more than 100 entries')
  })
})

describe('with certificates', needs('openssl'), () => {
  let company: TestAuthority
  let server: Issued
  let device: Issued
  beforeAll(() => {
    company = makeAuthority(folder, 'Example CA')
    server = company.issue('service.example')
    device = company.issue('device-1')
  })

  /** A server that wants a certificate of the authority. @returns its port, and the names that it was shown */
  async function serve(options: ServerOptions = {}) {
    const seen: unknown[] = []
    const own = { ...server, ca: readFileSync(company.path), requestCert: true, rejectUnauthorized: true }
    const https = createServer({ ...own, ...options }, (asked, response) => {
      seen.push((asked.socket as TLSSocket).getPeerCertificate().subject?.CN)
      response.setHeader('connection', 'close')
      response.end('hello')
    })
    https.on('tlsClientError', () => undefined)
    https.listen(0, '127.0.0.1')
    closing.push(() => https.close().closeAllConnections())
    await once(https, 'listening')
    return { port: (https.address() as AddressInfo).port, seen }
  }

  /** OpenSSL's own server, with the reason why it refuses a certificate: that of Node.js ends the connection. @returns its port */
  async function serveOpenssl(version: string): Promise<number> {
    const files = ['-cert', write('server.crt', server.cert), '-key', write('server.key', server.key)]
    const wanted = ['-CAfile', company.path, '-Verify', '1', '-verify_return_error']
    const child = spawn('openssl', ['s_server', version, '-accept', '127.0.0.1:0', ...files, ...wanted])
    closing.push(() => child.kill())
    let output = ''
    for await (const chunk of child.stdout) {
      output += chunk
      const port = /ACCEPT 127\.0\.0\.1:(\d+)/.exec(output)?.[1]
      if (port !== undefined) return Number(port)
    }
    throw new Error(`openssl stopped: ${output}`)
  }

  const here: LookupFunction = (_, options, callback) =>
    options.all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4)

  function get(network: Network, url: string, use: Use = 'service') {
    return new Promise<string>((resolve, reject) => {
      const agent = network.agentFor(url, use) ?? false
      request(url, { agent, lookup: here }, async (response) => {
        resolve(Buffer.concat(await response.toArray()).toString())
      })
        .on('error', reject)
        .end()
    })
  }
  const withEntries = (...clientCertificates: string[]) =>
    createNetwork({ caFile: company.path, env: {}, clientCertificates })

  it.each(['service', 'registry'] as const)(
    'a %s that is named is shown it, and no other host',
    async (use) => {
      const { port, seen } = await serve({ rejectUnauthorized: false })
      const path = write('device.pem', device.cert, device.key)
      const network = withEntries(`service.example:${port}=${path}`)
      expect(await get(network, `https://service.example:${port}`, use)).toBe('hello')
      const other = await serve({ rejectUnauthorized: false })
      expect(await get(network, `https://service.example:${other.port}`, use)).toBe('hello')
      expect([seen, other.seen]).toEqual([['device-1'], [undefined]])
    },
  )

  it('a server that another user named never is', async () => {
    const { port, seen } = await serve({ rejectUnauthorized: false })
    const path = write('device.pem', device.cert, device.key)
    const network = withEntries(`service.example=${path}`)
    expect(await get(network, `https://service.example:${port}`, 'foreign')).toBe('hello')
    expect(seen).toEqual([undefined])
  })

  it('a renewed file holds for the next connection', async () => {
    const { port, seen } = await serve()
    const path = write('renewed.pem', device.key, device.cert)
    const network = withEntries(`service.example=${path}`)
    await get(network, `https://service.example:${port}`)
    await get(network, `https://service.example:${port}`)
    const next = company.issue('device-2')
    renameSync(write('next.pem', next.key, next.cert), path)
    await get(network, `https://service.example:${port}`)
    expect(seen).toEqual(['device-1', 'device-1', 'device-2'])
  })

  it.each([
    ['TLSv1.2', 'may want', 'SSL/TLS_ALERT_HANDSHAKE_FAILURE'],
    ['TLSv1.3', 'wants', 'TLSV13_ALERT_CERTIFICATE_REQUIRED'],
  ] as const)(
    '%s: a server that gets no certificate is an error that names the setting',
    async (maxVersion, wants, alert) => {
      const { port } = await serve({ maxVersion })
      const failed = get(withEntries(), `https://service.example:${port}`)
      await expect(failed).rejects.toMatchObject({ code: 'client_certificate' })
      await expect(failed).rejects.toThrow(
        `service.example:${port} ${wants} a certificate of its client (ERR_SSL_${alert}): name a file for this host in network.clientCertificates`,
      )
    },
  )

  it.each(['-tls1_2', '-tls1_3'])(
    '%s: a server that refuses it is an error that names the file',
    async (version) => {
      const port = await serveOpenssl(version)
      const stranger = makeAuthority(folder, 'stranger').issue('device-1')
      const path = write('stranger.pem', stranger.cert, stranger.key)
      const failed = get(withEntries(`service.example=${path}`), `https://service.example:${port}`)
      await expect(failed).rejects.toMatchObject({ code: 'client_certificate' })
      await expect(failed).rejects.toThrow(
        /^service.example:\d+ refuses the certificate in .*stranger.pem \(ERR_SSL_.*UNKNOWN_CA\): check it in network.clientCertificates$/,
      )
    },
  )

  it('a proxy that is reached by TLS is shown it, whatever the use is', async () => {
    const target = await serve({ requestCert: false })
    const proxy = await startConnectProxy({
      portOf: () => target.port,
      tls: { ...company.issue('localhost'), clientAuthority: readFileSync(company.path, 'utf8') },
    })
    closing.push(() => proxy.close())
    const path = write('device.pem', device.cert, device.key)
    const through = (...clientCertificates: string[]) =>
      createNetwork({ proxy: proxy.url, caFile: company.path, env: {}, clientCertificates })
    expect(await get(through(`localhost=${path}`), 'https://service.example', 'foreign')).toBe('hello')
    const without = through()
    const failed = get(without, 'https://service.example', 'foreign')
    await expect(failed).rejects.toMatchObject({ reason: 'client_certificate' })
    await expect(failed).rejects.toThrow('wants a certificate of its client')
    expect(without.status().problem).toContain('network.clientCertificates')
  })

  it.each<[string, () => string[], string]>([
    ['has no key', () => [device.cert], 'has to have a certificate and its key, as PEM'],
    ['has no certificate', () => [device.key], 'has to have a certificate and its key, as PEM'],
    ['has another key', () => [device.cert, server.key], "can't be used: "],
    [
      'has a damaged certificate',
      () => [device.key, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
      "can't be used: ",
    ],
    [
      'is large',
      () => [device.cert, device.key, 'x'.repeat(262_144)],
      "can't be read: it has more than 262144 bytes",
    ],
  ])('a file that %s is an error, and nothing is connected', async (_, texts, message) => {
    const { port, seen } = await serve()
    const path = write('bad.pem', ...texts())
    const network = withEntries(`service.example=${path}`)
    const failed = get(network, `https://service.example:${port}`)
    await expect(failed).rejects.toMatchObject({ reason: 'client_certificate' })
    await expect(failed).rejects.toThrow(
      `network.clientCertificates: the file ${path} for service.example ${message}`,
    )
    expect(network.status().problem).toContain(message)
    expect(seen).toEqual([])
    for (const line of device.key.split('\n').slice(1, -2))
      expect(network.status().problem).not.toContain(line)
  })

  it('a file that is missing, has a passphrase, or has expired is an error', () => {
    const read = (path: string, now = Date.now()) => readClientCertificate(path, 'a.example', now)
    expect(() => read(at('missing'))).toThrow("can't be read: ENOENT")
    expect(() => read('/dev/zero')).toThrow("can't be read: it is no regular file")
    const locked = at('locked.key')
    const key = write('plain.key', device.key)
    const how = ['-topk8', '-v2', 'aes256', '-passout', 'pass:secret']
    execFileSync('openssl', ['pkcs8', ...how, '-in', key, '-out', locked])
    const path = write('locked.pem', device.cert, readFileSync(locked, 'utf8'))
    expect(() => read(path)).toThrow('has a key with a passphrase. Remove it from the key')
    const good = write('good.pem', device.cert, device.key)
    expect(read(good)).toBe(device.cert + device.key)
    expect(() => read(good, Date.now() + 60 * 86_400_000)).toThrow(
      /has a certificate that expired at .* GMT\. Renew it, or set the clock/,
    )
  })
})

describe('an error of a connection', () => {
  const problem = (code: string, shown?: string) =>
    clientCertificateProblem(Object.assign(new Error('x'), { code }), 'a.example:443', shown)

  it.each([
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', undefined, ' wants a certificate of its client '],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', undefined, ' may want a certificate of its client '],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', '/a.pem', ' refuses the certificate in /a.pem '],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', '/a.pem', ' may refuse the certificate in /a.pem '],
  ])('%s with the certificate %s is about that', (code, shown, message) => {
    expect(problem(code, shown)).toMatchObject({
      reason: 'client_certificate',
      message: expect.stringContaining(`a.example:443${message}`),
    })
  })

  it.each(['ECONNRESET', 'X_ALERT_UNKNOWN_CA_X', 'ALERT_HANDSHAKE_FAILURE_X'])('%s is not', (code) => {
    expect(problem(code)).toBeUndefined()
  })
})

describe('a file', () => {
  const certificate = '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n'
  const key = '-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n'
  const read = (...texts: string[]) => readClientCertificate(write('read.pem', ...texts), 'host', 0)

  it('may mention a passphrase, but not have one', () => {
    expect(read(certificate, key, 'not Proc-Type: 4,ENCRYPTED\n')).toContain('not Proc-Type')
    const refusal = { reason: 'client_certificate', message: expect.stringContaining('a passphrase') }
    for (const mark of ['Proc-Type: 4,ENCRYPTED\n', '-----BEGIN ENCRYPTED PRIVATE KEY-----\n'])
      expect(() => read(certificate, key, mark)).toThrow(expect.objectContaining(refusal))
  })
})
