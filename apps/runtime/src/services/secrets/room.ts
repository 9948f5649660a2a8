/** How many secrets there may be: they are one document, which is written whole with each change. */
import { maxSecretBytes, RpcError } from '@selvedge/protocol'
import { isOwnedBy, type Owner } from '../deployments/ownership.ts'
import type { StoredSecrets } from './stored-secrets.ts'

const mebibyte = 1024 * 1024

/** Of one project, and of the device with what former accounts left. A project leaves room for others: half of what they leave free. */
const limits = {
  count: { ofProject: 100, onDevice: 400 },
  bytes: { ofProject: mebibyte, onDevice: 4 * mebibyte },
} as const

/**
 * @param key of the secret, which may be there already
 * @param size bytes of its new value
 * @throws RpcError `limit_exceeded`
 */
export function expectRoom(stored: StoredSecrets, owner: Owner, key: string, size: number): void {
  if (size > maxSecretBytes)
    throw new RpcError('limit_exceeded', `the value has ${size} bytes; the limit is ${maxSecretBytes}`)
  const rest = Object.entries(stored).filter(([each]) => each !== key)
  const own = rest.filter(([, each]) => isOwnedBy(each, owner)).map(([, each]) => each.size)
  const all = rest.map(([, each]) => each.size)
  expectShare('secrets', limits.count, own.length, all.length, 1)
  expectShare('bytes of secrets', limits.bytes, sum(own), sum(all), size)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((one, other) => one + other, 0)

function expectShare(
  what: string,
  { ofProject, onDevice }: { readonly ofProject: number; readonly onDevice: number },
  own: number,
  all: number,
  more: number,
): void {
  const others = all - own
  const share = Math.min(ofProject, Math.ceil((onDevice - others) / 2))
  if (own + more <= share) return
  throw new RpcError(
    'limit_exceeded',
    `with this one the project has ${own + more} ${what}; at present its limit is ${share} (that of the device is ${onDevice})`,
    { hint: 'Remove secrets that are not needed: selvedge secret list, selvedge secret remove <name>.' },
  )
}
