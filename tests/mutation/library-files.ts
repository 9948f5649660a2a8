/** Groups of `files.ts`: what the libraries and the command line decide. */
import { beside, type Group } from './group.ts'

const kit = 'packages/service-kit/src'
const client = 'packages/client/src'
const protocol = 'packages/protocol/src'
const cli = 'apps/cli/src'

export const libraryGroups: readonly Group[] = [
  {
    name: 'revocation-lists',
    sources: [`${kit}/revocations/*.ts`],
    tests: [`${kit}/revocations/*.test.ts`],
  },
  beside('http-app', `${kit}/http-app`, 'require-proof', 'oauth-answer'),
  {
    name: 'kit-pages',
    sources: [`${kit}/http/{page-gate,own-page,refuse-upgrade,body}.ts`],
    tests: [`${kit}/http/{page-gate,refuse-upgrade,body}.test.ts`],
  },
  beside('http-routes', `${kit}/http-app`, 'event-stream', 'route-limits'),
  {
    name: 'client-sessions',
    sources: [`${client}/{edge-session,identity,local-token}.ts`],
    tests: [`${client}/{edge-session,identity}.test.ts`],
  },
  beside('client-discovery', client, 'discovery'),
  beside('client-sockets', `${client}/node`, 'own-socket'),
  beside('client-events', client, 'node/event-messages'),
  {
    name: 'client-rpc',
    sources: [`${client}/rpc.ts`],
    tests: [`${client}/{client,rpc}.test.ts`],
  },
  beside(
    'cli-context',
    `${cli}/context`,
    'confirm',
    'contexts',
    'page-url',
    'redact',
    'service-request',
    'trace',
  ),
  {
    name: 'cli-services',
    sources: [
      `${cli}/context/{services,person,find-service,service-access}.ts`,
      `${cli}/login/{leases,developer-token}.ts`,
    ],
    tests: [
      `${cli}/context/{services,person,find-service}.test.ts`,
      `${cli}/login/{leases,developer-token}.test.ts`,
    ],
  },
  {
    name: 'cli-tokens',
    sources: [`${cli}/context/{account,lease}.ts`],
    tests: [`${cli}/context/access-token.test.ts`],
  },
  beside('cli-sign-ins', cli, 'login/sign-ins', 'output/browser'),
  beside('cli-support', `${cli}/support`, 'mask'),
  beside('cli-access-token', cli, 'context/access-token'),
  {
    name: 'jsonrpc',
    sources: [`${protocol}/jsonrpc/*.ts`],
    tests: [`${protocol}/jsonrpc/*.test.ts`],
  },
  { name: 'lines', sources: [`${protocol}/lines/*.ts`], tests: [`${protocol}/lines/*.test.ts`] },
  {
    name: 'redaction',
    sources: [`${protocol}/redaction/{controls,secrets}.ts`],
    tests: [`${protocol}/redaction/*.test.ts`],
  },
  beside('read-fixes', protocol, 'http/read-fixes', 'methods/from-services'),
  {
    name: 'addresses',
    sources: [`${kit}/addresses/{address-set,addresses,special-purpose}.ts`],
    tests: [`${kit}/addresses/{address-set,addresses}.test.ts`],
  },
  beside('failures', kit, 'log/error-id', 'backup/last-backup'),
  beside('log-lines', kit, 'log/pretty-line'),
  {
    name: 'kit-answers',
    sources: [`${kit}/http/{send-json,large-body}.ts`, `${kit}/http-app/text-body.ts`],
    tests: [`${kit}/http/send-json.test.ts`],
  },
  {
    name: 'kit-messages',
    sources: [`${kit}/websocket/{callers,incoming-bytes,large-messages}.ts`],
    tests: [`${kit}/websocket/incoming-bytes.test.ts`],
  },
  beside(
    'kit-places',
    kit,
    'store/store-error',
    'store/folder-lock',
    'addresses/local-address',
    'log/write-note',
  ),
  beside('kit-turns', kit, 'http/one-a-turn', 'http/shed-calls'),
  beside('precision', 'packages/geo/src', 'precision'),
  beside('client-fetch', `${client}/node`, 'node-fetch'),
  {
    name: 'client-streams',
    sources: [`${client}/node/streams.ts`],
    tests: [`${client}/node/{streams,upload-image}.test.ts`],
  },
  beside('cli-created-context', `${cli}/context`, 'context'),
  beside('cli-sign-in', `${cli}/login`, 'sign-in'),
  beside('cli-known-secrets', `${cli}/support`, 'known-secrets'),
  beside('cli-runtime-address', `${cli}/context`, 'runtime-address'),
  beside('console-events', 'apps/console/src/session', 'events'),
]
