/** Where a system stores the authorities that it trusts. */
import { existsSync } from 'node:fs'

/** As in crypto/x509 of Go: `update-ca-certificates` and `update-ca-trust` write these files. */
const files = [
  // Debian, Ubuntu, Alpine, Arch.
  '/etc/ssl/certs/ca-certificates.crt',
  // Fedora, Red Hat.
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  // openSUSE.
  '/etc/ssl/ca-bundle.pem',
  // macOS, FreeBSD, OpenWrt.
  '/etc/ssl/cert.pem',
] as const

/**
 * @returns paths: `SSL_CERT_FILE` as for OpenSSL, else the first known file that exists, else that of Debian, which may be made later; and
 *   the file of `NODE_EXTRA_CA_CERTS`, which Node before 22.15 does not list
 */
export function systemAuthorities({
  SSL_CERT_FILE: named,
  NODE_EXTRA_CA_CERTS: extra,
}: Readonly<Record<string, string | undefined>>): readonly string[] {
  const system = named || (files.find((path) => existsSync(path)) ?? files[0])
  return extra ? [system, extra] : [system]
}
