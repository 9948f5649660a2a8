/**
 * The files that `npm run mutate` covers: those that decide about safety. A group is mutated together and tested by the tests of
 * the group, all of which run in the process of the test runner: what only a spawned daemon shows does not count.
 * `folders.ts` decides which files belong here, and `later.ts` which of them are still missing.
 */
import { globSync } from 'node:fs'
import { root } from '../harness/processes.ts'
import { beside, type Group } from './group.ts'
import { identityGroups } from './identity-files.ts'
import { libraryGroups } from './library-files.ts'
import { runtimeGroups } from './runtime-files.ts'
import { trustGroups } from './trust-files.ts'

export type { Group } from './group.ts'

/** Files of a group, from the root of the project. */
export const sourcesOf = ({ sources }: Group): string[] =>
  globSync(sources, { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .sort()

const kit = 'packages/service-kit/src'
const device = 'apps/runtime/src/device'
const services = 'apps/runtime/src/services'
const identity = 'apps/identity/src'
const cli = 'apps/cli/src'
const discovery = 'apps/discovery/src'

/** What admits a request, and what reads the answer of a service. */
const gateway =
  'grpc-refusal,admit,users,user-header,path,headers,response-reader,response-head,chunked-body,find-end'

/** What lets ID tokens of other issuers in. */
const federation = 'federation,match-rule,read-claimed,verify-by-rules'

/** What people sign in with, beside sessions. */
const credentials = 'one-time,known-browsers,passkey-answer,recovery-codes'

export const groups: readonly Group[] = [
  {
    name: 'compose',
    sources: [`${cli}/compose/**/*.ts`],
    tests: [`${cli}/compose/*.test.ts`],
  },
  beside('guard', `${kit}/http`, 'guard', 'target'),
  beside('tunnels', `${services}/gateway/tunnels`, 'target'),
  {
    name: 'tunnels-relayed',
    sources: [`${services}/gateway/tunnels/{dial,relay,tunnels}.ts`],
    tests: [`${services}/gateway/tunnels/{dial,tunnels}.test.ts`],
  },
  {
    name: 'guarded-requests',
    sources: [`${kit}/http/{get-guarded-json,guarded-fetch,guarded-request}.ts`],
    tests: [`${kit}/http/{get-guarded-json,guarded-request}.test.ts`],
  },
  {
    name: 'protocol-tokens',
    sources: ['packages/protocol/src/tokens/**/*.ts'],
    tests: ['packages/protocol/src/tokens/**/*.test.ts'],
  },
  { name: 'tokens', sources: [`${kit}/tokens/*.ts`], tests: [`${kit}/tokens/*.test.ts`] },
  beside('move-content', kit, 'store/move-content'),
  { name: 'document', sources: [`${kit}/store/document*.ts`], tests: [`${kit}/store/document*.test.ts`] },
  {
    name: 'discovery',
    sources: ['show', 'nodes', 'node-lists', 'last-fix'].map(
      (name) => `apps/discovery/src/endpoints/${name}.ts`,
    ),
    tests: ['apps/discovery/src/endpoints/{show,nodes,node-lists,last-fix}.test.ts'],
  },
  beside('device-machine', device, 'machine/own-machine', 'machine/this-machine', 'machine/wake'),
  {
    name: 'device-join',
    sources: [`${device}/join/*.ts`],
    tests: [`${device}/join/*.test.ts`],
  },
  { name: 'device-tokens', sources: [`${device}/tokens/*.ts`], tests: [`${device}/tokens/*.test.ts`] },
  { name: 'leases', sources: [`${device}/leases/*.ts`], tests: [`${device}/leases/*.test.ts`] },
  {
    name: 'retry',
    sources: [`${device}/cloud/{retry,return-watch,account-report,edge-tokens,service-reports}.ts`],
    tests: [`${device}/cloud/{retry,return-watch,account-report,edge-tokens,service-reports}.test.ts`],
  },
  {
    name: 'publisher',
    sources: ['apps/runtime/src/location/gps/publisher*.ts'],
    tests: ['apps/runtime/src/location/gps/publisher*.test.ts'],
  },
  {
    name: 'scarce-links',
    sources: ['apps/runtime/src/location/gps/scarce.ts'],
    tests: ['apps/runtime/src/location/gps/gps.test.ts'],
  },
  {
    name: 'containers',
    sources: [`${services}/containers/{crash-policy,health-policy,idle-policy,requirements}.ts`],
    tests: [`${services}/containers/{crash-policy,health-policy,idle-policy,requirements}.test.ts`],
  },
  {
    name: 'secrets',
    sources: [`${services}/secrets/*.ts`],
    tests: [`${services}/secrets/*.test.ts`],
  },
  {
    name: 'resumed-layers',
    sources: [`${services}/images/registry/{attempts,resumed,status}.ts`],
    tests: [`${services}/images/registry/{registry,resumed,status}.test.ts`],
  },
  {
    name: 'gateway',
    sources: [`${services}/gateway/{${gateway}}.ts`],
    tests: [`${services}/gateway/{${gateway}}.test.ts`],
  },
  {
    name: 'http2-services',
    sources: [
      `${services}/gateway/{http1-carrier,http2-carrier,http2-end,http2-sessions,accepts-trailers}.ts`,
    ],
    tests: [`${services}/gateway/http2-carrier.test.ts`, `${services}/gateway/proxy.test.ts`],
  },
  {
    name: 'http2-clients',
    sources: ['apps/runtime/src/api/http2/*.ts', `${kit}/http/protocols.ts`],
    tests: ['apps/runtime/src/api/http2/*.test.ts'],
  },
  { name: 'vitals', sources: [`${device}/vitals/*.ts`], tests: [`${device}/vitals/*.test.ts`] },
  {
    name: 'end-reasons',
    sources: ['packages/protocol/src/mcm/end-reasons.ts'],
    tests: ['packages/protocol/src/mcm/end-reasons.test.ts'],
  },
  {
    name: 'device-csv',
    sources: [`${identity}/api/console/device-csv.ts`],
    tests: [`${identity}/api/console/device-csv.test.ts`],
  },
  {
    name: 'identity-tokens',
    sources: [`${identity}/tokens/{checks,grants}/*.ts`, `${kit}/oauth/*.ts`],
    tests: [`${identity}/tokens/{checks,grants}/*.test.ts`, `${kit}/oauth/*.test.ts`],
  },
  {
    name: 'identity-federation',
    sources: [`${identity}/tokens/federation/{${federation}}.ts`],
    tests: [`${identity}/tokens/federation/{${federation}}.test.ts`],
  },
  {
    name: 'identity-sessions',
    sources: [`${identity}/registry/credentials/sessions*.ts`],
    tests: [`${identity}/registry/credentials/sessions*.test.ts`],
  },
  {
    name: 'identity-revocation',
    sources: [`${identity}/registry/revocation/*.ts`],
    tests: [`${identity}/registry/revocation/!(*-suite).test.ts`],
  },
  {
    name: 'identity-authorize',
    sources: [`${identity}/tokens/authorize/*.ts`],
    tests: [`${identity}/tokens/authorize/*.test.ts`],
  },
  {
    name: 'identity-sign-ins',
    sources: [`${identity}/registry/sign-ins/*.ts`],
    tests: [`${identity}/registry/sign-ins/!(*-suite).test.ts`],
  },
  {
    name: 'identity-credentials',
    sources: [`${identity}/registry/credentials/{${credentials}}.ts`],
    tests: [`${identity}/registry/credentials/{${credentials}}.test.ts`],
  },
  {
    name: 'identity-console',
    sources: [`${identity}/api/console/{cookie,enter}.ts`],
    tests: [`${identity}/api/console/{cookie,enter}.test.ts`],
  },
  {
    name: 'cli-release',
    sources: ['apps/cli/src/release/*.ts'],
    tests: ['apps/cli/src/release/*.test.ts'],
  },
  {
    name: 'cli-upgrade',
    sources: ['apps/cli/src/upgrade/*.ts'],
    tests: ['apps/cli/src/upgrade/*.test.ts'],
  },
  {
    name: 'backend',
    sources: ['packages/client/src/backend/{verifier,proof,issuer-keys}.ts'],
    tests: ['packages/client/src/backend/*.test.ts'],
  },
  beside('cli-credentials', cli, 'context/service-url'),
  {
    name: 'cli-components',
    sources: [
      'apps/cli/src/archive/bundler/{answer,native-package}.ts',
      'apps/cli/src/archive/component/{importable,is-component,transpile}.ts',
      'apps/cli/src/archive/component/host/{body,cli,clocks,closed,failure,fields,interfaces,io,keyvalue,message,outgoing,session,worker}.ts',
    ],
    tests: [
      'apps/cli/src/archive/bundler/answer.test.ts',
      'apps/cli/src/archive/native-packages.test.ts',
      'apps/cli/src/archive/component/*.test.ts',
      'apps/cli/src/archive/component/host/*.test.ts',
    ],
  },
  beside(
    'cli-archive',
    `${cli}/archive/bundler`,
    'entry',
    'policy',
    'absent',
    'node-modules',
    'node-variants',
    'own-modules',
    'own-files',
  ),
  beside('cli-files', cli, 'context/config-file', 'context/config-folder'),
  {
    name: 'cli-device',
    sources: [`${cli}/context/{selection,bound-token,check-service}.ts`],
    tests: [`${cli}/context/{selection,bound-token}.test.ts`],
  },
  beside('cli-foreign-text', cli, 'output/clean', 'support/forms'),
  beside('client', 'packages/client/src', 'read-text', 'proof-key', 'send', 'function/user'),
  {
    name: 'outbound',
    sources: [`${kit}/network/{network,outbound-fetch,start-request}.ts`],
    tests: [`${kit}/network/*.test.ts`],
  },
  beside('cli-network', `${cli}/context`, 'network'),
  {
    name: 'network',
    sources: ['packages/client/src/node/network/*.ts'],
    tests: ['packages/client/src/node/network/*.test.ts'],
  },
  {
    name: 'client-errors',
    sources: ['packages/client/src/{oauth,errors}.ts'],
    tests: ['packages/client/src/oauth.test.ts'],
  },
  beside('account-exports', identity, 'api/console/account-exports'),
  beside('console-session', 'apps/console/src/session', 'key', 'proof', 'request'),
  beside(
    'identity-console-words',
    identity,
    'api/console/place-states',
    'api/console/handlers/project-changes',
  ),
  {
    name: 'identity-device-history',
    sources: ['apps/identity/src/registry/nodes/{device-history,device-needs}.ts'],
    tests: ['apps/identity/src/registry/nodes/{device-history,device-needs-suite}.test.ts'],
  },
  beside('identity-turns', identity, 'registry/nodes/turns'),
  {
    name: 'identity-copies',
    sources: [`${identity}/registry/nodes/copies.ts`],
    tests: [`${identity}/registry/nodes/copies-suite.test.ts`],
  },
  beside('discovery-sessions', discovery, 'sessions/sessions', 'endpoints/read-track', 'trust/realms'),
  beside('identity-passwords', identity, 'registry/credentials/passwords'),
  beside('identity-secrets', identity, 'storage/secrets/seal', 'registry/projects/app-addresses'),
  beside('identity-clients', identity, 'api/endpoints/named-client'),
  {
    name: 'identity-token-endpoints',
    sources: [`${identity}/api/endpoints/{introspect,revoke,issued-token,token-state}.ts`],
    tests: [`${identity}/api/endpoints/issued-token.test.ts`],
  },
  beside('identity-company', `${identity}/tokens/company`, 'metadata', 'turns', 'explain'),
  beside('identity-codes', identity, 'storage/secrets/open-secret', 'registry/nodes/enrolment-codes'),
  beside('identity-edge-tokens', `${identity}/tokens/enrolment`, 'mint-edge', 'agree-hmac'),
  beside('identity-urls', identity, 'registry/urls'),
  {
    name: 'identity-join',
    sources: [
      `${identity}/registry/join/*.ts`,
      `${identity}/tokens/enrolment/join.ts`,
      `${identity}/api/console/handlers/join-keys.ts`,
    ],
    tests: [`${identity}/registry/join/*.test.ts`, `${identity}/api/console/handlers/join-keys.test.ts`],
  },
  {
    name: 'identity-shares',
    sources: [`${identity}/registry/shares/*.ts`, `${identity}/storage/end-shares.ts`],
    tests: [`${identity}/registry/shares/*.test.ts`, `${identity}/registry/people/removal-suite.test.ts`],
  },
  beside(
    'runtime-api',
    'apps/runtime/src/api',
    'api-key',
    'service-api',
    'mcm/read-spec',
    'mcm/read-plan',
    'mcm/resumable',
    'rest/query',
  ),
  beside(
    'runtime-owners',
    services,
    'containers/path-owners',
    'deployments/data-keys',
    'deployments/owner-share',
    'deployments/ownership',
  ),
  {
    name: 'owned',
    sources: [`${services}/containers/{owned,paths}.ts`],
    tests: [`${services}/containers/owned.test.ts`],
  },
  beside(
    'gateway-identity',
    services,
    'gateway/own-redirect',
    'gateway/service-identity',
    'images/image-name',
  ),
  beside(
    'images',
    `${services}/images`,
    'budget',
    'downloads',
    'former-contents',
    'layer',
    'registry/reference',
  ),
  {
    name: 'partial-layers',
    sources: [
      `${services}/images/{continue-pull,interrupted,late-folder,notes,own-file,partials,progress,registry-pulls,wanted}.ts`,
    ],
    tests: [
      `${services}/images/{continued,interrupted,late-folder,partials,progress,registry-pulls,wanted}.test.ts`,
    ],
  },
  beside('metering', `${device}/metering`, 'metered-link', 'allowance'),
  beside('allowed-pulls', `${services}/images/registry`, 'allowed'),
  {
    name: 'usage-totals',
    sources: [`${device}/metering/{usage-totals,metering}.ts`],
    tests: [`${device}/metering/{metering,usage-totals}.test.ts`],
  },
  {
    name: 'uploads-in-parts',
    sources: [
      `${services}/images/{append,checkpoints,stored-upload,stored-uploads,upload-document,upload-notes}.ts`,
    ],
    tests: [`${services}/images/{append,checkpoints,lasting-uploads,uploads}.test.ts`],
  },
  beside('requests-of-clients', 'packages/client/src/node', 'start-request'),
  {
    name: 'uploads-of-clients',
    sources: ['packages/client/src/node/{in-parts,upload-image}.ts'],
    tests: ['packages/client/src/node/{in-parts,upload-image}.test.ts'],
  },
  {
    name: 'registry-credentials',
    sources: [
      `${services}/images/registry/{at-once,authenticated,challenges,complaint,credentials,mirrors,repeated,sources,token-server}.ts`,
    ],
    tests: [
      `${services}/images/registry/{at-once,authenticated,challenges,credentials,mirrors,repeated,sources}.test.ts`,
    ],
  },
  {
    name: 'requests',
    sources: [`${kit}/http/{address,content-type,own-host,single-header}.ts`],
    tests: [`${kit}/http/{address,content-type,own-host}.test.ts`],
  },
  beside('parameters', 'packages/protocol/src', 'methods/read-params'),
  beside('identity-people', `${identity}/registry/people`, 'accounts', 'members', 'links', 'companies'),
  {
    name: 'identity-members',
    sources: [`${identity}/registry/people/{people,company-people,link-statements,local-owners}.ts`],
    tests: [`${identity}/registry/people/!(*-suite).test.ts`],
  },
  beside(
    'identity-projects',
    `${identity}/registry/projects`,
    'developer-tokens',
    'expiring-tokens',
    'issuer-key-sets',
    'offline',
    'stated',
  ),
  {
    name: 'connection-tokens',
    sources: ['apps/runtime/src/api/{caller,connection-tokens}.ts'],
    tests: ['apps/runtime/src/api/connection-tokens.test.ts'],
  },
  ...trustGroups,
  ...runtimeGroups,
  ...libraryGroups,
  ...identityGroups,
  beside('node-key', device, 'node/node-key'),
  { name: 'hmac', sources: [`${device}/hmac/*.ts`], tests: [`${device}/hmac/*.test.ts`] },
]
