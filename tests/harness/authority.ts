import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'

/** PEM texts of a server. */
export interface Issued {
  readonly cert: string
  readonly key: string
}

export interface TestAuthority {
  /** Path of its certificate. */
  readonly path: string
  /** For a server or a client. @param host name or address @param days negative: it has expired */
  issue(host: string, days?: number): Issued
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

/** Makes an authority with openssl in a folder, which issues certificates of servers. */
export function makeAuthority(folder: string, name: string): TestAuthority {
  const at = (file: string) => join(folder, file)
  const run = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
  const key = at(`${name}.key`)
  const path = at(`${name}.pem`)
  const subject = ['-subj', `/CN=${name}`, '-days', '30']
  run('req', '-x509', ...newKey, ...subject, '-keyout', key, '-out', path)
  return {
    path,
    issue(host, own = 30) {
      const [request, cert, ownKey, extensions] = ['csr', 'crt', 'key', 'ext'].map((end) =>
        at(`${host}.${end}`),
      )
      writeFileSync(extensions!, `subjectAltName=${isIP(host) === 0 ? 'DNS' : 'IP'}:${host}`)
      run('req', ...newKey, '-subj', `/CN=${host}`, '-keyout', ownKey!, '-out', request!)
      const signed = ['-in', request!, '-CA', path, '-CAkey', key, '-CAcreateserial', '-days', String(own)]
      run('x509', '-req', ...signed, '-extfile', extensions!, '-out', cert!)
      return { cert: readFileSync(cert!, 'utf8'), key: readFileSync(ownKey!, 'utf8') }
    },
  }
}
