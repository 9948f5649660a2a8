/** Groups of `files.ts`: what the identity service answers, and stores, and what decides from it. */
import { beside, type Group } from './group.ts'

const identity = 'apps/identity/src'
const endpoints = `${identity}/api/endpoints`

export const identityGroups: readonly Group[] = [
  beside(
    'identity-handlers',
    `${identity}/api/console/handlers`,
    ...['account', 'authorizations', 'companies', 'device-requests', 'issuers', 'links', 'logout', 'person'],
    ...['program-sign-ins', 'projects', 'shares', 'sign-in', 'tokens'],
  ),
  {
    name: 'identity-node-endpoints',
    sources: [`${endpoints}/{edge-token,verify-hmac}.ts`],
    tests: [`${endpoints}/node-endpoints.test.ts`],
  },
  {
    name: 'identity-form-endpoints',
    sources: [`${endpoints}/{device-authorization,pushed-authorization}.ts`],
    tests: [`${endpoints}/form-endpoints.test.ts`],
  },
  {
    name: 'identity-person-endpoints',
    sources: [`${endpoints}/{account-api,userinfo}.ts`],
    tests: [`${endpoints}/person-endpoints.test.ts`],
  },
  {
    name: 'identity-public-endpoints',
    sources: [`${endpoints}/{metadata,revocations}.ts`],
    tests: [`${endpoints}/public-endpoints.test.ts`],
  },
  beside(
    'identity-callers',
    `${identity}/api/console`,
    ...['api', 'app-pages', 'callers', 'device-export', 'send-long', 'show-devices', 'site'],
  ),
  beside('identity-console-rules', `${identity}/api/console`, 'bulk', 'context', 'handlers/devices'),
  {
    name: 'identity-replicas',
    sources: [`${identity}/storage/replicas/{presence,shared-limiter,used-proofs}.ts`],
    tests: [`${identity}/storage/replicas/replicas.test.ts`],
  },
  {
    name: 'identity-changes',
    sources: [`${identity}/storage/changes/{changes,trust-cache}.ts`],
    tests: [`${identity}/storage/changes/{changes,following,trust-cache,trust-memory}.test.ts`],
  },
  beside('identity-keys', `${identity}/registry/keys`, 'signing-keys', 'stored-keys'),
  {
    name: 'identity-issuers',
    sources: [`${identity}/registry/projects/{issuers,federated-subjects,subject-statements}.ts`],
    tests: [`${identity}/registry/projects/issuers.test.ts`],
  },
  beside('identity-apps', `${identity}/registry/projects`, 'projects', 'project-apps'),
  beside('identity-nodes', `${identity}/registry/nodes`, 'nodes', 'device-labels'),
  beside('identity-passkeys', `${identity}/registry/credentials`, 'passkeys'),
  {
    name: 'identity-issuer-keys',
    sources: [`${identity}/tokens/federation/issuer-keys.ts`],
    tests: [`${identity}/tokens/federation/{federation,issuer-keys-suite}.test.ts`],
  },
  beside('identity-console-events', `${identity}/api/console`, 'events', 'places', 'discovery-stream'),
  {
    name: 'identity-node-lists',
    sources: [`${identity}/registry/nodes/{device-vitals,node-filter,node-lists,node-rows}.ts`],
    tests: [`${identity}/registry/nodes/{device-vitals-suite,node-lists-suite,nodes}.test.ts`],
  },
  beside('identity-enrolment', `${identity}/tokens`, 'enrolment/enrolment', 'company/company-sign-in'),
  beside('identity-measures', `${identity}/tokens`, 'measure-tokens'),
  beside('identity-pages', `${identity}/api/console`, 'pages'),
  {
    name: 'identity-breached-passwords',
    sources: [`${identity}/registry/credentials/breached-passwords.lazy.ts`],
    tests: [`${identity}/registry/credentials/passwords.test.ts`],
  },
]
