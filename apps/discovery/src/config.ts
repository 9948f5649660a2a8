/** Every setting of the discovery service. */
import { discoveryReportSeconds } from '@selvedge/protocol'
import { type ConfigOf, daemonOptions, option } from '@selvedge/service-kit/config'

export const discoveryOptions = {
  state: option.text('./.selvedge', 'Folder of the state; the service uses its subfolder "discovery".', {
    env: 'SELVEDGE_STATE',
  }),
  'listen.address': option.text(
    'localhost',
    'Address to listen on; localhost: 127.0.0.1 and, where the machine has it, ::1. For addresses other than the loopback interface, use a TLS proxy.',
  ),
  'listen.port': option.port(8085, 'TCP port. 0: any free port.', { env: 'SELVEDGE_DISCOVERY_PORT' }),
  url: option.text('', 'URL of the service for nodes. Empty: http://<address>:<port>.'),
  store: option.text(
    '',
    'Registry of nodes: sqlite:<file>, or postgres://user:password@host/database for several replicas. Empty: a SQLite file in the state folder.',
    { env: 'SELVEDGE_DISCOVERY_STORE' },
  ),
  storePasswordFile: option.text(
    '',
    'File with the password of the database user, for a PostgreSQL "store" without one. One line. Empty: the URL has all.',
  ),
  cluster: option.list(
    [],
    'Nodes of a Valkey or Redis cluster that stores the locations, such as redis://10.0.0.1:6379. Empty: this process stores them.',
  ),
  'presence.interval': option.seconds(
    discoveryReportSeconds,
    [1, 3600],
    'Maximum time between two reports of a healthy node. A node is offline after two and a half times as long without a report.',
  ),
  'sessions.lifetime': option.seconds(
    600,
    [60, 3600],
    'Lifetime of a node session: after that, the node must send its edge ID token again.',
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
    'Trusted issuers of edge ID tokens. Each may name the accounts of one tenant: itself, the only tenant, or the one in "<issuer>=<tenant>". Empty: identity.url.',
  ),
  trustedTenants: option.list(
    [],
    'Trusted issuers of access tokens, each for its own accounts. Empty: identity.url.',
  ),
  'revocations.interval': option.seconds(
    30,
    [1, 3600],
    'Poll interval for the lists of revoked tokens. A revoked token may be accepted for this long.',
  ),
  'revocations.maxAge': option.seconds(
    600,
    [10, 86_400],
    'Maximum age of the list of an issuer. If the list could not be fetched for longer, its tokens are refused with 503.',
  ),
  trustedProxies: option.networks(
    [],
    'IP addresses or networks (10.0.0.0/8) of proxies whose X-Forwarded-For header is trusted. Rate limits use that address.',
  ),
  'limits.nodes': option.count(10_000, [1, 1_000_000_000], 'Maximum nodes of one account.'),
  'nodes.forgetAfter': option.seconds(
    30 * 86_400,
    [86_400, 315_360_000],
    'Retention of a node that does not report: its location, its addresses and services, and its track are removed after this time.',
  ),
  'limits.address': option.count(
    12_000,
    [1, 1_000_000_000],
    'Rate limit: sessions per minute that one network address starts (IPv6: /64), and the maximum burst.',
  ),
  ...daemonOptions,
} as const

export type DiscoveryConfig = ConfigOf<typeof discoveryOptions>
