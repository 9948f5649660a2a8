/** Mutants that no test can notice, by area, each with its reason. */
import { cli } from './cli.ts'
import { client } from './client.ts'
import { leases, publisher, retry } from './device.ts'
import type { Equivalent } from './equivalent.ts'
import { gateway } from './gateway.ts'
import { identity } from './identity.ts'
import { kitLists } from './kit-lists.ts'
import { protocolTokens } from './protocol-tokens.ts'
import { requests } from './requests.ts'
import { guard, guardedRequests, serviceTokens } from './service-kit.ts'

export const equivalents: readonly Equivalent[] = [
  ...protocolTokens,
  ...serviceTokens,
  ...guard,
  ...requests,
  ...guardedRequests,
  ...kitLists,
  ...retry,
  ...leases,
  ...gateway,
  ...publisher,
  ...identity,
  ...cli,
  ...client,
]
