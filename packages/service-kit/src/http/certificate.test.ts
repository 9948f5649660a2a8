import { generateKeyPairSync } from 'node:crypto'
import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { makeCertificate } from '../../../../tests/harness/certificate.ts'
import { needs } from '../../../../tests/harness/installed.ts'
import { type Certificate, type CertificateStatus, openCertificate } from './certificate.ts'

let folder: string
let certificate: Certificate | undefined
let statuses: CertificateStatus[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'certificate-'))
  statuses = []
})
afterEach(() => {
  certificate?.close()
  rmSync(folder, { recursive: true })
})
const at = (name: string) => join(folder, name)

const make = (name: string, days?: number) => makeCertificate(folder, name, days)

function use(name: string): void {
  for (const kind of ['key', 'crt']) {
    copyFileSync(at(`${name}.${kind}`), at(`next.${kind}`))
    renameSync(at(`next.${kind}`), at(`used.${kind}`))
  }
}

const open = () => {
  certificate = openCertificate({
    cert: at('used.crt'),
    key: at('used.key'),
    intervalMs: 20,
    onStatus: (status) => statuses.push(status),
  })
  return certificate
}
const problem = () => statuses.at(-1)!.problem
const read = (name: string) => readFileSync(at(name), 'utf8')

/** The certificate in use, with another text in place of the time when it expires. */
function spoilEnd(): void {
  const der = Buffer.from(read('used.crt').replaceAll(/-----[^-]+-----|\s/g, ''), 'base64').toString('latin1')
  const [, end] = der.match(/\d{12}Z/g)!
  const spoiled = Buffer.from(der.replace(end!, 'in some years'), 'latin1').toString('base64')
  writeFileSync(at('used.crt'), `-----BEGIN CERTIFICATE-----\n${spoiled}\n-----END CERTIFICATE-----\n`)
}

const checks = (count: number) => {
  const expected = statuses.length + count
  return expect.poll(() => statuses.length).toBeGreaterThanOrEqual(expected)
}

/** The name in the certificate that a server shows now. */
const shownBy = (port: number) =>
  new Promise<unknown>((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subject.CN)
      socket.destroy()
    })
    socket.on('error', reject)
  })

describe('the certificate of a listener', needs('openssl'), () => {
  it('is replaced in a running server without closing its connections', async () => {
    make('first')
    make('second')
    use('first')
    const { current, follow } = open()
    const server = createServer(current()).listen(0, '127.0.0.1')
    follow(server)
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const kept = connect(port, '127.0.0.1')
    expect(await shownBy(port)).toBe('first')
    use('second')
    await expect.poll(() => shownBy(port)).toBe('second')
    expect(kept.destroyed).toBe(false)
    kept.destroy()
    server.close()
  })

  it('is given to servers that are open, and only when there is another one', async () => {
    make('first')
    make('second')
    use('first')
    const { follow } = open()
    const [running, closed] = [createServer(), createServer()]
    const given = [running, closed].map((server) => {
      follow(server)
      return vi.spyOn(server, 'setSecureContext')
    })
    closed.emit('close')
    await checks(3)
    for (const each of given) expect(each).not.toHaveBeenCalled()
    use('second')
    await expect.poll(() => given[0]!.mock.calls).not.toEqual([])
    await checks(3)
    const expected = { cert: read('second.crt'), key: read('second.key'), minVersion: 'TLSv1.2' }
    expect(given.map(({ mock }) => mock.calls)).toEqual([[[expect.objectContaining(expected)]], []])
  })

  it('is read again where its file was written in place, and has the same length', async () => {
    make('first')
    const [before, after] = [read('first.crt').padEnd(2000), read('first.crt').padEnd(2000, '\n')]
    copyFileSync(at('first.key'), at('used.key'))
    writeFileSync(at('used.crt'), before)
    utimesSync(at('used.crt'), 1, 1)
    const { current } = open()
    expect(current().cert).toBe(before)
    writeFileSync(at('used.crt'), after)
    await expect.poll(() => current().cert).toBe(after)
  })

  it.each([
    ['is gone', () => rmSync(at('used.crt'))],
    ['is no certificate', () => writeFileSync(at('used.crt'), 'nothing')],
    ['is empty', () => writeFileSync(at('used.crt'), '')],
    ['is of another key', () => copyFileSync(at('second.crt'), at('used.crt'))],
    [
      'is of a key of another kind',
      () => {
        const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
        writeFileSync(at('used.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
      },
    ],
    ['expires at no time', spoilEnd],
    [
      'has a chain that is broken',
      () => appendFileSync(at('used.crt'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'),
    ],
    [
      'is a loop of links',
      () => {
        rmSync(at('used.crt'))
        symlinkSync(at('used.crt'), at('used.crt'))
      },
    ],
  ])('that %s leaves the one from before, until it is good again', async (_, spoil) => {
    make('first')
    make('second')
    use('first')
    const { current } = open()
    const before = current()
    spoil()
    await expect.poll(problem).toBeInstanceOf(Error)
    expect(current()).toEqual(before)
    rmSync(at('used.crt'), { force: true })
    use('second')
    await expect.poll(problem).toBeUndefined()
    expect(current()).not.toEqual(before)
  })

  it('reports when the one in use expires', () => {
    make('first', 3)
    use('first')
    open()
    const days = (statuses[0]!.expiresAt - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(2.9)
    expect(days).toBeLessThan(3.1)
  })

  it('cannot be opened if the certificate and the key do not match', () => {
    make('first')
    make('second')
    use('first')
    copyFileSync(at('second.crt'), at('used.crt'))
    expect(open).toThrow(
      expect.objectContaining({
        name: 'CertificateError',
        message: expect.stringContaining(
          `the certificate in ${at('used.crt')} with the key in ${at('used.key')} cannot be used: `,
        ),
        cause: expect.any(Error),
      }),
    )
  })
})
