/** Groups of `files.ts`: what decides about tokens, requests and limits in the services, and what the service kit does for all daemons. */
import { beside, type Group } from './group.ts'

const kit = 'packages/service-kit/src'
const device = 'apps/runtime/src/device'
const identity = 'apps/identity/src'
const discovery = 'apps/discovery/src'

export const trustGroups: readonly Group[] = [
  beside(
    'identity-devices',
    `${identity}/registry/nodes`,
    ...['strangers', 'device-audit', 'lease-audit', 'device-facets'],
  ),
  beside(
    'identity-endpoints',
    `${identity}/api`,
    ...[
      'explain-failure',
      'endpoints/cors',
      'endpoints/token',
      'console/describe-device',
      'console/device-states',
      'console/handlers/map',
    ],
  ),
  beside(
    'identity-freshness',
    `${identity}/storage`,
    ...['restored-store', 'changes/freshness', 'changes/followers', 'changes/raise-counters'],
  ),
  beside(
    'identity-trust',
    `${identity}/tokens`,
    ...['trust/trust', 'company/test-company', 'company/client', 'federation/show-issuers'],
  ),
  {
    name: 'discovery-requests',
    sources: [`${discovery}/endpoints/{read-json,read-query,bounded-list,sessions,fixes,write-places}.ts`],
    tests: [`${discovery}/endpoints/{read-json,sessions,fixes,write-places}.test.ts`],
  },
  beside('discovery-trust', discovery, 'trust/trust'),
  {
    name: 'discovery-account',
    sources: [`${discovery}/endpoints/account.ts`],
    tests: [`${discovery}/endpoints/{account,account-rules}.test.ts`],
  },
  {
    name: 'discovery-registry',
    sources: [`${discovery}/registry/{registry,tracks}.ts`],
    tests: [`${discovery}/registry/registry-suite.test.ts`],
  },
  beside(
    'request-limits',
    `${kit}/http`,
    'limiter',
    'request-id',
    'traceparent',
    'get-json',
    'bounded-writer',
  ),
  {
    name: 'edge-tokens',
    sources: [`${device}/cloud/{edge-token-request,stated-services,time-floor}.ts`],
    tests: [`${device}/cloud/{edge-token-request,time-floor}.test.ts`],
  },
  beside('runtime-tokens', 'apps/runtime/src/api', 'token-endpoint', 'rest/nodes-routes'),
  beside('clocks', `${kit}/clock`, 'clock', 'believed-time'),
  beside('store-passwords', `${kit}/store`, 'store-password'),
  beside('certificates', `${kit}/http`, 'certificate'),
  {
    name: 'rpc-requests',
    sources: [`${kit}/http/{rpc-listener,rpc-call,rpc-upgrade}.ts`],
    tests: [`${kit}/http/rpc-listener.test.ts`],
  },
  beside('servers', `${kit}/http`, 'server', 'bind-unix'),
  {
    name: 'metrics-readers',
    sources: [`${kit}/metrics/listener.ts`, `${kit}/http/listen-local.ts`],
    tests: [`${kit}/metrics/listener.test.ts`],
  },
  beside('hot-path', `${kit}/http-app`, 'hot-path'),
  {
    name: 'http-shell',
    sources: [`${kit}/http-app/{http-app,form-routes}.ts`],
    tests: [`${kit}/http-app/{http-app,listen-app}.test.ts`],
  },
  beside('restored-databases', `${kit}/backup`, 'verify'),
]
