/** All aimed changes, by area. */
import type { Change } from '../change.ts'
import { accessChanges } from './access.ts'
import { clientChanges } from './client.ts'
import { commandLineChanges } from './command-line.ts'
import { consoleChanges } from './console.ts'
import { discoveryChanges } from './discovery.ts'
import { durabilityChanges } from './durability.ts'
import { identityChanges } from './identity.ts'
import { runtimeChanges } from './runtime.ts'

export const areas: Readonly<Record<string, readonly Change[]>> = {
  'access checks': accessChanges,
  client: clientChanges,
  'command line': commandLineChanges,
  console: consoleChanges,
  discovery: discoveryChanges,
  durability: durabilityChanges,
  identity: identityChanges,
  runtime: runtimeChanges,
}
