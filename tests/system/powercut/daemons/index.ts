import type { Subject } from '../subject.ts'
import { createDiscoverySubject } from './discovery.ts'
import { createIdentitySubject } from './identity.ts'
import { createRuntimeSubject } from './runtime.ts'
import type { Name } from './start.ts'

/** @param rounds how often the same work is done again, with other values */
export const createDaemons = (rounds: number): Record<Name, Subject> => ({
  runtime: createRuntimeSubject({ rounds }),
  identity: createIdentitySubject({ rounds }),
  // Its rows are small: fewer of its states differ.
  discovery: createDiscoverySubject({ rounds: Math.ceil(1.2 * rounds) }),
})
