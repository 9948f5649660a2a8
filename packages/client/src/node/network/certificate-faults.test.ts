/** Each fault of a certificate is named, with the names and the dates that a person needs. */
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Issued, makeAuthority, type TestAuthority } from '../../../../../tests/harness/authority.ts'
import { needs } from '../../../../../tests/harness/installed.ts'
import { openAuthorities } from './authorities.ts'
import { openContexts } from './contexts.ts'
import type { NetworkFailure } from './network-failure.ts'
import { openTls } from './open-tls.ts'
import { systemAuthorities } from './system-authorities.ts'

describe('a certificate', needs('openssl'), () => {
  let folder: string
  let root: TestAuthority
  let issuing: TestAuthority
  const servers: { close(): void }[] = []
  const at = (name: string) => join(folder, name)

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'selvedge-faults-'))
    root = makeAuthority(folder, 'Example Root', 'Example Corp')
    issuing = root.intermediate('Example Issuing')
  })
  afterEach(() => {
    for (const each of servers.splice(0)) each.close()
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

  /** Connects to a server with a certificate. @param system file of the authorities of the system */
  async function open(issued: Issued, system = root.path, servername = 'id.example') {
    const server = createServer(issued).on('tlsClientError', () => undefined)
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const contexts = openContexts({ caFile: '', clientCertificates: [], system: [system] })
    const socket = connect(port, '127.0.0.1')
    const { context, added } = contexts.contextFor('127.0.0.1', port, false)
    const opened = await openTls({
      ...{ host: '127.0.0.1', port, socket, servername, context, ...(added && { added }) },
    })
    opened.destroy()
    return 'verified'
  }

  const faultOf = async (...args: Parameters<typeof open>): Promise<NetworkFailure> =>
    open(...args).then(
      () => expect.unreachable('the certificate was accepted'),
      (cause: NetworkFailure) => cause,
    )

  it('of an authority of the system is verified, with the intermediate one that the server sends', async () => {
    expect(await open(root.issue('id.example'))).toBe('verified')
    const { cert, key } = issuing.issue('id.example')
    expect(await open({ key, cert: cert + readFileSync(issuing.path, 'utf8') })).toBe('verified')
  })

  it('of an unknown authority is refused with its name and the ways to trust it', async () => {
    const { reason, message } = await faultOf(makeAuthority(folder, 'Other CA', 'Other').issue('id.example'))
    expect(reason).toBe('certificate_untrusted')
    expect(message).toMatch(/certificate of id\.example .* not trusted here: "Other CA"/)
    expect(message).toContain('update-ca-certificates')
    expect(message).toContain('network.caFile')
  })

  it('that signs itself is one of an unknown authority, also with a name that is trusted here', async () => {
    const self = makeAuthority(folder, 'id.example', 'Example Corp')
    const issued = { cert: readFileSync(self.path, 'utf8'), key: readFileSync(at('id.example.key'), 'utf8') }
    expect(await faultOf(issued)).toMatchObject({ reason: 'certificate_untrusted' })
  })

  it('that has expired is refused with the time of its end', async () => {
    const { reason, message } = await faultOf(root.issue('id.example', -1))
    expect(reason).toBe('certificate_expired')
    expect(message).toMatch(new RegExp(`expired at ${day(-1)}T.*Z, and the clock here shows ${day(0)}T`))
  })

  it('that is not valid yet is refused with the time of its beginning', async () => {
    const { reason, message } = await faultOf(root.issueFrom('id.example', 3))
    expect(reason).toBe('certificate_not_yet_valid')
    expect(message).toMatch(new RegExp(`not valid before ${day(3)}T.*Z, and the clock here shows ${day(0)}T`))
  })

  it('for other names is refused with these', async () => {
    const { reason, message } = await faultOf(root.issue('other.example'))
    expect(reason).toBe('certificate_name')
    expect(message).toContain('the certificate of id.example is for other names: DNS:other.example')
  })

  it('without its intermediate authority is an incomplete chain, not an unknown authority', async () => {
    const { reason, message } = await faultOf(issuing.issue('id.example'))
    expect(reason).toBe('certificate_incomplete')
    expect(message).toMatch(/"Example Issuing", which issued it: the chain is incomplete.*fullchain\.pem/)
  })

  it('is verified with the authorities of a file of the system that is replaced meanwhile', () => {
    const system = at('changing.crt')
    const damaged = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
    const write = (...texts: readonly string[]) => {
      writeFileSync(at('draft.crt'), texts.join(''))
      renameSync(at('draft.crt'), system)
    }
    copyFileSync(root.path, system)
    const authorities = openAuthorities({ path: '', system: [system], checkMs: 0 })
    const names = () => authorities.added().map(({ subject }) => subject.split('\n').at(-1))
    expect(names()).toEqual(['CN=Example Root'])
    const first = authorities.context()
    expect(authorities.context()).toBe(first)
    write(damaged, readFileSync(issuing.path, 'utf8'))
    expect(names()).toEqual(['CN=Example Issuing'])
    expect(authorities.context()).not.toBe(first)
    write('nothing')
    expect(names()).toEqual(['CN=Example Issuing'])
    expect(authorities.problem()).toBeUndefined()
  })
})

it('the authorities of the system are in the file of SSL_CERT_FILE, else in a known one', () => {
  expect(systemAuthorities({ SSL_CERT_FILE: '/own.pem', NODE_EXTRA_CA_CERTS: '/extra.pem' })).toEqual([
    '/own.pem',
    '/extra.pem',
  ])
  expect(systemAuthorities({})).toEqual([expect.stringMatching(/^\/etc\/.*\.(?:crt|pem)$/)])
})
