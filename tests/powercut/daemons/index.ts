import type { Subject } from '../subject.ts'
import { createDiscoverySubject } from './discovery.ts'
import { createIdentitySubject } from './identity.ts'
import { createRuntimeSubject } from './runtime.ts'
import type { Name } from './start.ts'

/** @param rounds how often the same work is done again, with other values */
export const createDaemons = (rounds: number): Record<Name, Subject> => ({
  runtime: createRuntimeSubject({ rounds }),
  identity: createIdentitySubject({ rounds }),
  // Its database is small: the same states come again and again.
  discovery: createDiscoverySubject({ rounds: 2 * rounds }),
})
