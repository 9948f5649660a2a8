/** Groups of `files.ts`: what the identity service answers, and stores, and what decides from it. */
import { beside, type Group } from './group.ts'

const identity = 'apps/identity/src'
const endpoints = `${identity}/api/endpoints`

export const identityGroups: readonly Group[] = [
  beside(
    'identity-handlers',
    `${identity}/api/console/handlers`,
    ...['account', 'authorizations', 'companies', 'device-requests', 'issuers', 'links', 'logout', 'person'],
    ...['program-sign-ins', 'projects', 'sign-in', 'tokens'],
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
]
