/** Every setting of the discovery service. */
import { type ConfigOf, option } from '@selvedge/service-kit/config'

export const discoveryOptions = {
  state: option.text('./.selvedge', 'Folder of the state; the service uses its subfolder "discovery".', {
    env: 'SELVEDGE_STATE',
  }),
  'listen.address': option.text(
    '127.0.0.1',
    'Address to listen on. Put a TLS proxy in front of any other than the loopback.',
  ),
  'listen.port': option.port(8085, 'TCP port; 0 takes any free one.', { env: 'SELVEDGE_DISCOVERY_PORT' }),
  url: option.text('', 'URL under which nodes know the service. Empty: http://<address>:<port>.'),
  store: option.text(
    '',
    'Where nodes are registered: sqlite:<file>, or postgres://user:password@host/database where several replicas share it. Empty: a SQLite file in the state folder.',
    { env: 'SELVEDGE_DISCOVERY_STORE' },
  ),
  cluster: option.list(
    [],
    'Nodes of a Valkey or Redis cluster, such as redis://10.0.0.1:6379, that holds the locations. Empty: this process holds them.',
  ),
  'presence.interval': option.seconds(
    120,
    [1, 3600],
    'A node that is well is heard once in this time; silent for two and a half times as long, it is offline.',
  ),
  'sessions.lifetime': option.seconds(
    600,
    [60, 3600],
    'For how long a node reports without showing its edge ID token again.',
  ),
  'identity.url': option.url(
    'http://127.0.0.1:8084',
    'Identity service: issuer of edge ID tokens and access tokens.',
    {
      env: 'SELVEDGE_IDENTITY_URL',
    },
  ),
  trustedEdgeIssuers: option.list(
    [],
    'Issuers of edge ID tokens that are trusted. Each speaks for the accounts of one tenant: itself, the only one, or the one named in "<issuer>=<tenant>". Empty: identity.url.',
  ),
  trustedTenants: option.list(
    [],
    'Issuers of access tokens that are trusted, each for its own accounts. Empty: identity.url.',
  ),
  'revocations.interval': option.seconds(
    30,
    [1, 3600],
    'Between two fetches of the lists of revoked tokens: for so long a revoked token may still be accepted.',
  ),
  'revocations.maxAge': option.seconds(
    600,
    [10, 86_400],
    'While the list of an issuer could not be fetched for so long, its tokens are refused with 503.',
  ),
  trustedProxies: option.list(
    [],
    'IP addresses of proxies whose X-Forwarded-For is believed; limits go by it.',
  ),
  'limits.nodes': option.count(10_000, [1, 1_000_000_000], 'Nodes of one account.'),
  'nodes.forgetAfter': option.seconds(
    30 * 86_400,
    [86_400, 315_360_000],
    'A node that was silent for so long is forgotten: where it was, what it stated, and its track.',
  ),
  'limits.address': option.count(
    12_000,
    [1, 1_000_000_000],
    'Sessions that one network address begins in a minute, in one burst at most; of IPv6, of a /64.',
  ),
  'log.level': option.choice(
    ['debug', 'info', 'warn', 'error'],
    'info',
    'Least severe level that is logged.',
  ),
} as const

export type DiscoveryConfig = ConfigOf<typeof discoveryOptions>
