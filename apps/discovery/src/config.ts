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
  'identity.url': option.url(
    'http://127.0.0.1:8084',
    'Identity service: issuer of edge ID tokens and access tokens.',
    {
      env: 'SELVEDGE_IDENTITY_URL',
    },
  ),
  trustedEdgeIssuers: option.list([], 'Issuers of edge ID tokens that are believed. Empty: identity.url.'),
  trustedTenants: option.list([], 'Issuers of access tokens that are believed. Empty: identity.url.'),
  'log.level': option.choice(
    ['debug', 'info', 'warn', 'error'],
    'info',
    'Least severe level that is logged.',
  ),
} as const

export type DiscoveryConfig = ConfigOf<typeof discoveryOptions>
