import type { Faults } from '../recorder/record.ts'
import type { Subject } from '../subject.ts'
import { createDiscoverySubject } from './discovery.ts'
import { createIdentitySubject } from './identity.ts'
import { createRuntimeSubject } from './runtime.ts'
import type { Name } from './start.ts'

/** @param rounds how often the same work is done again, with other values @param faults syncs that fail meanwhile */
export const createDaemons = (rounds: number, faults?: Faults): Record<Name, Subject> => ({
  runtime: createRuntimeSubject({ rounds, faults }),
  identity: createIdentitySubject({ rounds, faults }),
  // Its rows are small: fewer of its states differ.
  discovery: createDiscoverySubject({ rounds: Math.ceil(1.2 * rounds), faults }),
})
