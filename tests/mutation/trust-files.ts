/** Groups of `files.ts`: what decides about tokens, requests and limits in the services, and what the service kit does for all daemons. */
import type { Group } from './group.ts'

const discovery = 'apps/discovery/src'

export const trustGroups: readonly Group[] = [
  {
    name: 'discovery-requests',
    sources: [`${discovery}/endpoints/{read-json,read-query,bounded-list,sessions,fixes}.ts`],
    tests: [`${discovery}/endpoints/{read-json,sessions,fixes}.test.ts`],
  },
]
