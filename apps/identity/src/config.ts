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
  'log.level': option.choice(
    ['debug', 'info', 'warn', 'error'],
    'info',
    'Least severe level that is logged.',
  ),
} as const

export type IdentityConfig = ConfigOf<typeof identityOptions>
