/** Every setting of the identity service. */
import { type ConfigOf, daemonOptions, option } from '@selvedge/service-kit/config'

export const identityOptions = {
  state: option.text('./.selvedge', 'Folder of the state; the service uses its subfolder "identity".', {
    env: 'SELVEDGE_STATE',
  }),
  'listen.address': option.text(
    'localhost',
    'Address to listen on; localhost: 127.0.0.1 and, where the machine has it, ::1. For addresses other than the loopback interface, use a TLS proxy.',
  ),
  'listen.port': option.port(8084, 'TCP port. 0: any free port.', { env: 'SELVEDGE_IDENTITY_PORT' }),
  'listen.hosts': option.list(
    [],
    'Additional host names of this service. The names of the issuer and the console, localhost and IP addresses are always allowed. Requests with another Host header are refused (protects against DNS rebinding).',
  ),
  trustedProxies: option.networks(
    [],
    'IP addresses or networks (10.0.0.0/8) of proxies whose X-Forwarded-For header is trusted. Rate limits and the audit log use that address.',
  ),
  store: option.text(
    '',
    'sqlite:<file>, or postgres://user:password@host/database for several replicas. Empty: SQLite in the state folder.',
    { env: 'SELVEDGE_IDENTITY_STORE' },
  ),
  storePasswordFile: option.text(
    '',
    'File with the password of the database user, for a PostgreSQL "store" without one. One line. Empty: the URL has all.',
  ),
  'secrets.keyFile': option.text(
    '',
    'File with the keys that encrypt secrets in the store: 32 bytes in base64url per line, the newest first. Empty: secret-keys in the state folder, created at the first start with SQLite. The variable SELVEDGE_IDENTITY_KEYS overrides it.',
  ),
  issuer: option.text('', 'URL that tokens name as their issuer. Empty: http://<address>:<port>.'),
  role: option.choice(
    ['both', 'cloud', 'tenant'],
    'both',
    'cloud: registry of nodes and issuer of edge ID tokens. tenant: accounts, projects and the token endpoint.',
  ),
  enrolment: option.choice(
    ['open', 'code'],
    'open',
    'Whether any node may enrol, or only nodes with a code from "selvedge admin enrolment create".',
  ),
  edgeAudiences: option.list(
    [],
    'cloud: issuers of the tenants that edge ID tokens are for. Empty: this service itself.',
  ),
  trustedTenants: option.list(
    [],
    'cloud: issuers whose access tokens may associate a node. Empty: this service itself.',
  ),
  trustedEdgeIssuers: option.list(
    [],
    'tenant: trusted issuers of edge ID tokens. Empty: this service itself.',
  ),
  'lifetime.edge': option.seconds(600, [60, 3600], 'Lifetime of an edge ID token.'),
  'lifetime.access': option.seconds(3600, [60, 86_400], 'Lifetime of an access token.'),
  'lifetime.developer': option.seconds(2_592_000, [3600, 31_536_000], 'Lifetime of a developer ID token.'),
  'lifetime.refresh': option.seconds(
    7_776_000,
    [3600, 31_536_000],
    'Maximum lifetime of a sign-in with refresh tokens, from its start.',
  ),
  'refresh.grace': option.seconds(
    10,
    [0, 60],
    'Grace period in which a used refresh token returns the same successor again, because responses can get lost.',
  ),
  'replicas.maxAge': option.seconds(
    5,
    [2, 60],
    'With PostgreSQL: maximum seconds without reading the changes of other replicas. After that, this replica answers 503 instead of deciding from memory. A revocation takes effect everywhere within this time.',
  ),
  'keys.rotateAfter': option.seconds(
    2_592_000,
    [0, 31_536_000],
    'Rotation interval of the signing key. 0: only with "selvedge admin keys rotate".',
  ),
  'console.url': option.text(
    '',
    'URL of the console. Empty: the issuer, with the name localhost on the loopback interface, because passkeys need a host name.',
  ),
  'console.mapStyle': option.pageUrl(
    "Background of the console's map: URL of a MapLibre style, or of image tiles with {z}, {x} and {y}. The browsers of all people of the console get it and send requests to its host. Empty: packaged outlines of countries, and no other host.",
  ),
  'console.mapHosts': option.origins(
    'Other origins that the style of console.mapStyle names, for tiles, sprites and fonts: https://tiles.example. Everything else that the style names is refused.',
  ),
  'discovery.url': option.url(
    'http://127.0.0.1:8085',
    'Discovery service, for the locations of devices in the console.',
    {
      env: 'SELVEDGE_DISCOVERY_URL',
    },
  ),
  'limits.address': option.count(
    12_000,
    [1, 1_000_000_000],
    'Rate limit: requests per minute of one network address (IPv6: /64), and the maximum burst.',
  ),
  'limits.client': option.count(60_000, [1, 1_000_000_000], 'Rate limit: tokens per minute of one project.'),
  'limits.account': option.count(60_000, [1, 1_000_000_000], 'Rate limit: tokens per minute of one account.'),
  'limits.enrolment': option.count(
    1000,
    [1, 1_000_000_000],
    'Rate limit: nodes per hour that enrol without a code from one network address (IPv6: /64), and the maximum burst.',
  ),
  'limits.join': option.count(
    2000,
    [1, 1_000_000_000],
    'Rate limit: devices per hour that join by one join key, and from one network address (IPv6: /64), and the maximum burst.',
  ),
  'limits.nodes': option.count(10_000, [1, 1_000_000_000], 'Maximum nodes of one account.'),
  'limits.members': option.count(1000, [1, 1_000_000], 'Maximum people of one account.'),
  'limits.projects': option.count(1000, [1, 1_000_000], 'Maximum projects of one account.'),
  'limits.issuers': option.count(20, [1, 100], 'Maximum trusted issuers of one project. Each rule counts.'),
  'limits.developerTokens': option.count(
    10_000,
    [1, 1_000_000],
    'Maximum developer ID tokens of one account that have not expired, including revoked ones.',
  ),
  'nodes.forgetAfter': option.seconds(
    604_800,
    [86_400, 315_360_000],
    'Retention of a node that enrolled, never had an account and was not seen again. It may enrol again.',
  ),
  'limits.node': option.count(120, [1, 1_000_000_000], 'Rate limit: edge ID tokens per minute of one node.'),
  'audit.keep': option.seconds(
    34_560_000,
    [86_400, 315_360_000],
    'Retention of audit log rows. Older rows are removed and not exported. Download the log from the console before.',
  ),
  'audit.perAccount': option.count(
    100_000,
    [100, 100_000_000],
    'Maximum audit log rows of one account; actions and refusals are counted separately. The oldest rows are removed.',
  ),
  'revocations.perAccount': option.count(
    1000,
    [1, 100_000],
    'Maximum revoked tokens and sign-ins of one account in the list for runtimes. If an account revokes more within a day, runtimes refuse all access tokens that it got until then. New ones are valid.',
  ),
  'revocations.inAll': option.count(
    100_000,
    [100, 300_000],
    'Maximum entries of the list for runtimes. Beyond it, the accounts with the most entries are listed as a whole.',
  ),
  'revocations.interval': option.seconds(
    30,
    [1, 3600],
    'Poll interval for the lists of revoked tokens of trustedTenants and trustedEdgeIssuers. A token that such an issuer revoked may be accepted for this long.',
  ),
  'revocations.maxAge': option.seconds(
    600,
    [10, 86_400],
    'Maximum age of the list of another issuer. If the list could not be fetched for longer, tokens of that issuer are refused.',
  ),
  ...daemonOptions,
} as const

export type IdentityConfig = ConfigOf<typeof identityOptions>
