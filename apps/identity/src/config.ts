/** Every setting of the identity service. */
import { type ConfigOf, option } from '@selvedge/service-kit/config'

export const identityOptions = {
  state: option.text('./.selvedge', 'Folder of the state; the service uses its subfolder "identity".', {
    env: 'SELVEDGE_STATE',
  }),
  'listen.address': option.text(
    '127.0.0.1',
    'Address to listen on. Put a TLS proxy in front of any other than the loopback.',
  ),
  'listen.port': option.port(8084, 'TCP port; 0 takes any free one.', { env: 'SELVEDGE_IDENTITY_PORT' }),
  'listen.hosts': option.list(
    [],
    'Host names under which this service is reached, beside those of the issuer and the console, localhost and IP addresses. Requests for any other name are refused: it may belong to a web page that wants to get in.',
  ),
  trustedProxies: option.list(
    [],
    'IP addresses of proxies whose X-Forwarded-For is believed; limits and the audit log go by it.',
  ),
  store: option.text(
    '',
    'sqlite:<file>, or postgres://user:password@host/database for several replicas. Empty: SQLite in the state folder.',
    { env: 'SELVEDGE_IDENTITY_STORE' },
  ),
  'secrets.keyFile': option.text(
    '',
    'File with the keys that encrypt secrets in the store: 32 bytes in base64url a line, the newest first. Empty: secret-keys in the state folder, made at the first start with SQLite. The variable SELVEDGE_IDENTITY_KEYS takes its place.',
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
    'Whether any node may enrol, or only one with a code of "selvedge admin enrolment create".',
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
    'tenant: issuers of edge ID tokens that are believed. Empty: this service itself.',
  ),
  'lifetime.edge': option.seconds(600, [60, 3600], 'Life of an edge ID token.'),
  'lifetime.access': option.seconds(3600, [60, 86_400], 'Life of an access token.'),
  'lifetime.developer': option.seconds(2_592_000, [3600, 31_536_000], 'Life of a developer ID token.'),
  'lifetime.refresh': option.seconds(
    7_776_000,
    [3600, 31_536_000],
    'Life of a sign-in with refresh tokens, from its beginning.',
  ),
  'refresh.grace': option.seconds(
    10,
    [0, 60],
    'For how long a refresh token that was used gets the same successor once more, since answers get lost.',
  ),
  'replicas.maxAge': option.seconds(
    5,
    [2, 60],
    'With PostgreSQL: seconds without news of what other replicas changed after which this one answers 503 instead of deciding from memory. A revocation takes effect everywhere within this time.',
  ),
  'keys.rotateAfter': option.seconds(
    2_592_000,
    [0, 31_536_000],
    'For how long a key signs before the next one takes its place; 0: until "selvedge admin keys rotate".',
  ),
  'console.url': option.text(
    '',
    'Where people find the console. Empty: the issuer, on the loopback by the name localhost, since passkeys need a name.',
  ),
  'discovery.url': option.url('http://127.0.0.1:8085', 'Discovery service: where the devices are.', {
    env: 'SELVEDGE_DISCOVERY_URL',
  }),
  'limits.address': option.count(
    12_000,
    [1, 1_000_000_000],
    'Requests a minute of one network address, in one burst at most; of IPv6, of a /64.',
  ),
  'limits.client': option.count(60_000, [1, 1_000_000_000], 'Tokens a minute of one project.'),
  'limits.account': option.count(60_000, [1, 1_000_000_000], 'Tokens a minute of one account.'),
  'limits.enrolment': option.count(
    1000,
    [1, 1_000_000_000],
    'Nodes that may enrol from one network address in an hour without a code, in one burst at most; of IPv6, from a /64.',
  ),
  'limits.nodes': option.count(10_000, [1, 1_000_000_000], 'Nodes of one account.'),
  'limits.members': option.count(1000, [1, 1_000_000], 'People of one account.'),
  'limits.projects': option.count(1000, [1, 1_000_000], 'Projects of one account.'),
  'limits.developerTokens': option.count(
    10_000,
    [1, 1_000_000],
    'Developer ID tokens of one account that have not expired, revoked ones included.',
  ),
  'nodes.forgetAfter': option.seconds(
    604_800,
    [86_400, 315_360_000],
    'After how long a node that enrolled, never had an account and was not seen again is removed. It may enrol again.',
  ),
  'limits.node': option.count(120, [1, 1_000_000_000], 'Edge ID tokens a minute of one node.'),
  'audit.keep': option.seconds(
    34_560_000,
    [86_400, 315_360_000],
    'For how long a row of the audit log is stored. Older ones are removed and not exported: download the log from the console before.',
  ),
  'audit.perAccount': option.count(
    100_000,
    [100, 100_000_000],
    'Rows of the audit log of one account, what was done and what was refused counted apart. The oldest are removed beyond it.',
  ),
  'revocations.perAccount': option.count(
    1000,
    [1, 100_000],
    'Revoked tokens and sign-ins of one account in the list for runtimes. An account that revokes more within a day is listed as a whole: runtimes then refuse all access tokens that it was issued until then; new ones are valid.',
  ),
  'revocations.inAll': option.count(
    100_000,
    [100, 300_000],
    'Entries of the list for runtimes in all. Beyond it, the accounts with the most entries are listed as a whole.',
  ),
  'revocations.interval': option.seconds(
    30,
    [1, 3600],
    'Between two fetches of the lists of revoked tokens of trustedTenants and trustedEdgeIssuers: for so long a token that another issuer revoked may still be accepted.',
  ),
  'revocations.maxAge': option.seconds(
    600,
    [10, 86_400],
    'While the list of another issuer could not be fetched for so long, its tokens are refused.',
  ),
  'log.level': option.choice(
    ['debug', 'info', 'warn', 'error'],
    'info',
    'Least severe level that is logged.',
  ),
} as const

export type IdentityConfig = ConfigOf<typeof identityOptions>
