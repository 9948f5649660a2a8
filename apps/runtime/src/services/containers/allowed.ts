/** Whether a container may start: the device grants what its settings need, and its secrets are set. */
import { readSettings, usedSecrets } from '@selvedge/protocol'
import type { StoredContainer } from '../deployments/deployments.ts'
import type { Grants } from '../grants/grants.ts'
import type { Secrets } from '../secrets/secrets.ts'

export interface Allowed {
  /** @throws RpcError `invalid_params` for what the device does not grant, `not_found` for a secret that is not set */
  expect(container: StoredContainer): void
  holds(container: StoredContainer): boolean
}

export function createAllowed(grants: Grants, secrets: Pick<Secrets, 'expectSet'>): Allowed {
  function expect(container: StoredContainer): void {
    const settings = readSettings(container.env)
    grants.expect(container, settings)
    secrets.expectSet(container, usedSecrets(settings['MCM.SECRETS']))
  }

  return {
    expect,
    holds(container) {
      try {
        expect(container)
        return true
      } catch {
        return false
      }
    },
  }
}
