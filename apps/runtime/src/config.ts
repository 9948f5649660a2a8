/** Every setting of the runtime. */
import { hostname } from 'node:os'
import { type ConfigOf, option } from '@selvedge/service-kit/config'

export const runtimeOptions = {
  state: option.text(
    './.selvedge',
    'Folder of the state; the runtime uses its subfolder "runtime", and "runtime.sock" in it.',
    {
      env: 'SELVEDGE_STATE',
    },
  ),
  name: option.text('', 'Name of the device. Empty: its host name.', { env: 'SELVEDGE_NAME' }),
  'listen.addresses': option.list(
    ['127.0.0.1', '::1'],
    'Addresses to listen on. Any other than of the loopback needs listen.tlsCert, listen.tlsKey and apiKey.',
  ),
  'listen.port': option.port(8083, 'TCP port; 0 takes any free one.', { env: 'SELVEDGE_RUNTIME_PORT' }),
  'listen.hosts': option.list(
    [],
    'Host names, beside those of the loopback, that requests may be addressed to.',
  ),
  'listen.tlsCert': option.text('', 'File with the TLS certificate chain (PEM).'),
  'listen.tlsKey': option.text('', 'File with the private key of the TLS certificate (PEM).'),
  apiKey: option.boolean(
    false,
    'Whether every method but getMe needs the key in the file "api-key" of the state folder; it is made at first start.',
  ),
  allowedOrigins: option.list(
    [],
    'Origins of web pages that may call the API, such as https://console.example.',
  ),
  'compat.flatGetMe': option.boolean(true, 'Whether getMe repeats its four fields beside id and jsonrpc.'),
  'gps.positionalOrder': option.choice(
    ['longitude-first', 'latitude-first'],
    'longitude-first',
    'Order of the first two positional values of updateGps.',
  ),
  'gps.source': option.text(
    '',
    'Receiver that is followed: gpsd://host:port, or nmea: and the path of a device or a file. Empty: none.',
    { env: 'SELVEDGE_GPS_SOURCE' },
  ),
  'gps.maxError': option.count(
    50,
    [1, 100_000],
    'Metres. A fix of the receiver is sent when dead reckoning from the last one, its speed and its bearing is off by more.',
  ),
  'gps.maxInterval': option.seconds(
    120,
    [1, 86_400],
    'A fix of the receiver is sent after this time, however good the prediction is.',
  ),
  'linkLocal.enabled': option.boolean(
    true,
    'Whether the node announces itself on the local network (DNS-SD, _selvedge._tcp) and listens for others. Names and services are sealed for nodes of the account.',
    { env: 'SELVEDGE_LINK_LOCAL' },
  ),
  'linkLocal.interfaces': option.list([], 'Network interfaces for that. Empty: every one but the loopback.'),
  'identity.url': option.url(
    'http://127.0.0.1:8084',
    'Identity service that this node belongs to (its cloud role).',
    {
      env: 'SELVEDGE_IDENTITY_URL',
    },
  ),
  'identity.tenants': option.list([], 'Issuers of the access tokens that are accepted. Empty: identity.url.'),
  'identity.enrolmentCode': option.text('', 'One-time code, where the identity service asks for one.', {
    env: 'SELVEDGE_ENROLMENT_CODE',
  }),
  'revocations.interval': option.seconds(
    30,
    [1, 3600],
    'Between two looks at the list of revoked tokens: for so long a revoked token may still be taken.',
  ),
  'discovery.url': option.url('http://127.0.0.1:8085', 'Discovery service that locations are reported to.', {
    env: 'SELVEDGE_DISCOVERY_URL',
  }),
  'images.reserve': option.bytes(
    512 * 1024 * 1024,
    'Bytes of the disk that stay free: a deployment that would leave less is refused before it begins.',
  ),
  'images.maxSize': option.bytes(
    4 * 1024 * 1024 * 1024,
    'Most bytes of an image, as an archive and unpacked.',
  ),
  'images.registryAuth': option.text(
    '',
    'File with the credentials of image registries, in the form of the config.json of Docker. Empty: none.',
  ),
  'oci.socket': option.text(
    '',
    'Unix socket of the container engine (Docker Engine API). Empty: the first of Podman, Docker and balenaEngine that is found.',
    { env: 'SELVEDGE_OCI_SOCKET' },
  ),
  'log.level': option.choice(
    ['debug', 'info', 'warn', 'error'],
    'info',
    'Least severe level that is logged.',
  ),
} as const

export type RuntimeConfig = ConfigOf<typeof runtimeOptions>

export const deviceName = ({ name }: RuntimeConfig): string => name || hostname()
