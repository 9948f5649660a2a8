import { isUtf8 } from 'node:buffer'
import { RpcError } from '@selvedge/protocol'
import type { ServiceSecret } from '../../secrets/secrets.ts'

/**
 * The secrets of a function, which gets them as texts.
 *
 * @throws RpcError `container_failed` for a value that is not UTF-8
 */
export function textSecrets(secrets: readonly ServiceSecret[]): ReadonlyMap<string, string> {
  const binary = secrets.find(({ value }) => !isUtf8(value))
  if (!binary) return new Map(secrets.map(({ name, value }) => [name, value.toString()]))
  throw new RpcError(
    'container_failed',
    `the secret ${JSON.stringify(binary.name)} is not UTF-8 text, and a function gets its secrets as texts`,
    { hint: 'Set it as base64 text, and decode it in the function.' },
  )
}
