/** Networks with a socket that fails again and again: they are shown as one notice. */
import type { Log } from '@selvedge/service-kit/log'
import type { Notices } from '../../device/node/notices.ts'
import type { Trouble } from './link-socket.ts'

/** Failures in a row before the notice: the first ones are usual while an interface comes up. */
const warnAfterFailures = 3

export interface Troubles {
  failed(trouble: Trouble): void
  recovered(network: string): void
  /** The networks are left: what failed there does not matter. */
  clear(): void
}

export function createTroubles(log: Log, notices: Notices): Troubles {
  const networks = new Set<string>()
  return {
    failed({ cause, failures, ...fields }) {
      const details = { ...fields, failures, why: cause.message }
      log.debug('link-local discovery cannot use a network; it is tried again', details)
      if (failures < warnAfterFailures) return
      networks.add(fields.network)
      notices.raise('link_local_unavailable', details)
    },
    recovered(network) {
      networks.delete(network)
      if (networks.size === 0) notices.clear('link_local_unavailable')
    },
    clear() {
      if (networks.size === 0) return
      networks.clear()
      notices.clear('link_local_unavailable')
    },
  }
}
