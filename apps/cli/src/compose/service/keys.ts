/** Every key of a service in the Compose Specification: what it becomes, why it changes nothing, or why it is refused. */
import { dataKeys } from './data.ts'
import type { Keys } from './draft.ts'
import { networkKeys } from './network.ts'
import { orderKeys } from './order.ts'
import { programKeys } from './program.ts'
import { resourceTable } from './resources.ts'
import { storageKeys } from './storage.ts'

export const serviceKeys: Keys = {
  ...programKeys,
  ...dataKeys,
  ...storageKeys,
  ...networkKeys,
  ...orderKeys,
  ...resourceTable,
}
