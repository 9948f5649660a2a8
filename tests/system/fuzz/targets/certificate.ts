import { createSecureContext } from 'node:tls'
import { CertificateError, checkPair } from '../../../../packages/service-kit/src/http/certificate.ts'
import { expectThat, outcomeOf, type Target } from '../engine/target.ts'

/** Made for this target alone: an input means the same in every run. */
const cert = `-----BEGIN CERTIFICATE-----
MIIBhzCCASygAwIBAgIUW//ai5IHv1zU1njjCKmdBDoBu0AwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEZnV6ejAgFw0yNjExMjIxMDI2MThaGA8yMTI2MTAyOTEwMjYx
OFowDzENMAsGA1UEAwwEZnV6ejBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIuE
PKN5p3lnCsUeyUelqWbbZUWkbWDXCvuiuGpaz25JLzWsblseTfCcAblMmfbCx+up
7vtHEwm6uEBuLlTdcrKjZDBiMB0GA1UdDgQWBBScM3tZ2MxRu2zMSGJorzeSLhZC
WDAfBgNVHSMEGDAWgBScM3tZ2MxRu2zMSGJorzeSLhZCWDAPBgNVHRMBAf8EBTAD
AQH/MA8GA1UdEQQIMAaHBH8AAAEwCgYIKoZIzj0EAwIDSQAwRgIhAK7CrBqMoXYu
yvcmwUe5phet6+DbF7zieXV6PJX0EkO1AiEAqK+4C/r4mmNYuKz0JxKvZIYwPWUq
/SqJnddjKT6Cu9I=
-----END CERTIFICATE-----
`
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgXShoyxVJKCkjdlg8
wcp1+HqpLLO1cIj2mY8SCaQAPWShRANCAASLhDyjead5ZwrFHslHpalm22VFpG1g
1wr7orhqWs9uSS81rG5bHk3wnAG5TJn2wsfrqe77RxMJurhAbi5U3XKy
-----END PRIVATE KEY-----
`
const separator = '\0'

/** PEM files of a listener: a chain and its private key, with a NUL between them. A pair that is accepted can be served. */
export const certificate: Target = {
  name: 'certificate',
  covers: ['packages/service-kit/src/http/certificate.ts'],
  seeds: () =>
    [
      cert + separator + key,
      cert.repeat(8) + separator + key,
      `${key}${cert}${separator}${cert}${key}`,
      `text before\r\n${cert.replaceAll('\n', '\r\n')}${separator}${key}text after`,
      separator,
    ].map((each) => Buffer.from(each)),
  words: [
    '-----BEGIN CERTIFICATE-----\n',
    '-----END CERTIFICATE-----\n',
    '-----BEGIN PRIVATE KEY-----\n',
    '-----BEGIN ENCRYPTED PRIVATE KEY-----\n',
    '-----BEGIN X509 CRL-----\n',
    'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n',
    '====',
    separator,
  ],
  maxBytes: 16 * 1024,
  open: () => ({
    parse(input) {
      const [chain = '', secret = ''] = input.toString().split(separator, 2)
      return outcomeOf(() => {
        const { expiresAt, ...pair } = checkPair({ cert: chain, key: secret }, 'the pair')
        expectThat(Number.isSafeInteger(expiresAt), `the certificate ends at ${expiresAt}`)
        createSecureContext(pair)
        return 'usable'
      }, [CertificateError])
    },
  }),
}
