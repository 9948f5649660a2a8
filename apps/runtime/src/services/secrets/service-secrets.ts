/** The secrets of a project with the containers that use them, as callers see both. */
import { RpcError, type SecretRecord } from '@selvedge/protocol'
import type { Renewals } from '../containers/renewals.ts'
import type { Owner } from '../deployments/ownership.ts'
import type { Secrets } from './secrets.ts'

export interface ServiceSecrets {
  /**
   * Resolves when the value is on the disk; running containers get it from then on.
   *
   * @throws RpcError `invalid_params`, `limit_exceeded`; StoreError
   */
  set(owner: Owner, name: string, value: string, encoding: 'text' | 'base64'): Promise<SecretRecord>
  list(owner: Owner): SecretRecord[]
  /** @throws RpcError `not_found`, `in_use`; StoreError */
  remove(owner: Owner, name: string): Promise<{ name: string }>
}

/** @throws RpcError `invalid_params` for what is not base64 */
export function decode(value: string, encoding: 'text' | 'base64'): Buffer {
  if (encoding === 'text') return Buffer.from(value)
  const bytes = Buffer.from(value, 'base64')
  // Node skips what is not base64.
  if (bytes.toString('base64') === value) return bytes
  throw new RpcError('invalid_params', 'value is not base64; expected the standard alphabet with its padding')
}

export function createServiceSecrets(secrets: Secrets, renewals: Renewals): ServiceSecrets {
  return {
    async set(owner, name, value, encoding) {
      const shown = await secrets.set(owner, name, decode(value, encoding))
      renewals.renewSecret(owner, name)
      return { ...shown, containers: renewals.usersOfSecret(owner, name) }
    },
    list: (owner) =>
      secrets
        .list(owner)
        .map((shown) => ({ ...shown, containers: renewals.usersOfSecret(owner, shown.name) })),
    remove: (owner, name) =>
      secrets.remove(owner, name, () => {
        const users = renewals.usersOfSecret(owner, name)
        if (users.length === 0) return
        throw new RpcError(
          'in_use',
          `the secret ${JSON.stringify(name)} is used by ${users.slice(0, 10).join(', ')}`,
          {
            hint: 'Remove these containers, or deploy them without the secret, first.',
          },
        )
      }),
  }
}
