import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/**
 * Makes `<name>.key` and `<name>.crt` in a folder with openssl: a certificate for 127.0.0.1 that signs itself.
 *
 * @param days for which it is valid
 */
export function makeCertificate(folder: string, name: string, days = 30): { key: string; cert: string } {
  const files = { key: join(folder, `${name}.key`), cert: join(folder, `${name}.crt`) }
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
  const subject = `-subj /CN=${name} -addext subjectAltName=IP:127.0.0.1 -days ${days}`
  const args = [
    'req',
    '-x509',
    ...key.split(' '),
    ...subject.split(' '),
    '-keyout',
    files.key,
    '-out',
    files.cert,
  ]
  execFileSync('openssl', args, { stdio: 'ignore' })
  return files
}
