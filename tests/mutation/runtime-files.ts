/** Groups of `files.ts`: what decides about requests, images and neighbours in the runtime. */
import { beside, type Group } from './group.ts'

const runtime = 'apps/runtime/src'
const gateway = `${runtime}/services/gateway`
const images = `${runtime}/services/images`

export const runtimeGroups: readonly Group[] = [
  beside(
    'gateway-frames',
    gateway,
    ...['client-messages', 'closable-frames', 'event-end', 'frame-walker', 'unread-events'],
  ),
  beside('gateway-routes', gateway, 'routes', 'target', 'down-refusal'),
  beside('gateway-passage', gateway, 'connections', 'passage', 'send-request'),
  beside('gateway-answers', gateway, 'client-answer'),
  {
    name: 'gateway-refusals',
    sources: [`${gateway}/refusal.ts`],
    tests: [`${gateway}/{refusal,refusal-status}.test.ts`],
  },
  beside('gateway-egress', gateway, 'egress'),
  {
    name: 'gateway-proxy',
    sources: [`${gateway}/{proxy,exchange}.ts`],
    tests: [`${gateway}/{proxy,exchange}.test.ts`],
  },
  beside('gateway-requests', gateway, 'gateway'),
  beside('host-sockets', gateway, 'host-socket'),
  beside('gateway-upgrades', gateway, 'upgrade'),
  beside('gateway-proofs', gateway, 'proven-request', 'instance-limit', 'origin-wide'),
  {
    name: 'runtime-small-rules',
    sources: [
      `${runtime}/api/images-for-services.ts`,
      `${runtime}/api/events/state-channel.ts`,
      `${runtime}/services/deployments/{content-in-use,held-paths}.ts`,
      `${images}/{limits,arriving}.ts`,
    ],
    tests: [
      `${runtime}/api/images-for-services.test.ts`,
      `${runtime}/api/events/state-channel.test.ts`,
      `${runtime}/services/deployments/{content-in-use,held-paths}.test.ts`,
      `${images}/limits.test.ts`,
    ],
  },
  beside('runtime-sharing', runtime, 'location/nodes/sharing', 'services/engines/function/control-message'),
  beside('runtime-strangers', runtime, 'location/link-local/seals', 'api/events/stream-budget'),
  beside('runtime-account', `${runtime}/device`, 'account/account', 'time/device-clock'),
  beside(
    'link-local-rules',
    `${runtime}/location/link-local`,
    ...['budget', 'defence', 'show', 'start', 'troubles'],
  ),
  beside('neighbours', `${runtime}/services/neighbours`, 'neighbours', 'open-sealed'),
  beside('deployments', `${runtime}/services/deployments`, 'deployments', 'first-version'),
  beside('runtime-mcm-routes', `${runtime}/api/mcm`, 'routes'),
  beside('runtime-rest', `${runtime}/api/rest`, 'rest'),
  beside('runtime-events', `${runtime}/api/events`, 'hub', 'sources', 'subscriptions'),
  beside('confirmed-releases', runtime, 'confirm-release'),
  {
    name: 'app-releases',
    sources: [`${runtime}/services/apps/{release-files,deploy-again}.ts`],
    tests: [`${runtime}/services/apps/{release-files,deploy-again}.test.ts`],
  },
  beside('runtime-discovery-session', `${runtime}/device/cloud`, 'discovery-session', 'link'),
  {
    name: 'runtime-nodes',
    sources: [`${runtime}/location/nodes/{nodes,last-known}.ts`],
    tests: [`${runtime}/location/nodes/{nodes,aged,last-known}.test.ts`],
  },
]
