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
  /** The same, valid from a day on. @param startDays days from now */
  issueFrom(host: string, startDays: number): Issued
  /** Another authority, with a certificate of this one. */
  intermediate(name: string): TestAuthority
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
const run = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })

/**
 * Makes an authority with openssl in a folder, which issues certificates of servers.
 *
 * @param organization in its name; absent: only a common name
 */
export function makeAuthority(folder: string, name: string, organization?: string): TestAuthority {
  const [key, path] = ['key', 'pem'].map((end) => join(folder, `${name}.${end}`)) as [string, string]
  const subject = ['-subj', subjectOf(name, organization), '-days', '30']
  run('req', '-x509', ...newKey, ...subject, '-keyout', key, '-out', path)
  return authorityOf(folder, { key, path }, organization)
}

const subjectOf = (name: string, organization?: string) =>
  `${organization === undefined ? '' : `/O=${organization}`}/CN=${name}`

function authorityOf(
  folder: string,
  own: { readonly key: string; readonly path: string },
  organization?: string,
): TestAuthority {
  const at = (name: string, end: string) => join(folder, `${name}.${end}`)
  const signed = ['-CA', own.path, '-CAkey', own.key, '-CAcreateserial']

  /** @param sign the arguments of openssl that sign the request */
  function make(name: string, extension: string, sign: (request: string) => readonly string[]): Issued {
    const [request, cert, key, extensions] = ['csr', 'crt', 'key', 'ext'].map((end) => at(name, end)) as [
      ...[string, string, string, string],
    ]
    writeFileSync(extensions, extension)
    run('req', ...newKey, '-subj', subjectOf(name, organization), '-keyout', key, '-out', request)
    run(...sign(request), '-extfile', extensions, '-out', cert)
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  }
  const hostOf = (host: string) => `subjectAltName=${isIP(host) === 0 ? 'DNS' : 'IP'}:${host}`
  const forDays = (days: number) => (request: string) => [
    ...['x509', '-req', '-in', request, ...signed, '-days', String(days)],
  ]
  return {
    path: own.path,
    issue: (host, days = 30) => make(host, hostOf(host), forDays(days)),
    issueFrom(host, startDays) {
      const config = at(host, 'cnf')
      writeFileSync(at(host, 'index'), '')
      const section = [
        '[ca]',
        'default_ca = own',
        '[own]',
        'rand_serial = yes',
        `database = ${at(host, 'index')}`,
      ]
      writeFileSync(
        config,
        [
          ...section,
          `new_certs_dir = ${folder}`,
          'default_md = sha256',
          'policy = any',
          '[any]',
          'commonName = supplied',
          '',
        ].join('\n'),
      )
      const from = new Date(Date.now() + startDays * 86_400_000).toISOString()
      const ca = ['ca', '-batch', '-notext', '-preserveDN', '-config', config, '-days', '30']
      const sign = ['-cert', own.path, '-keyfile', own.key, '-startdate', from.replaceAll(/[-:T]|\.\d+/g, '')]
      return make(host, hostOf(host), (request) => [...ca, ...sign, '-in', request])
    },
    intermediate(name) {
      make(name, 'basicConstraints=critical,CA:TRUE', forDays(30))
      return authorityOf(folder, { key: at(name, 'key'), path: at(name, 'crt') }, organization)
    },
  }
}
