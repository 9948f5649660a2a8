/** What this node states about itself on the local networks, sealed with the key of its account. */
import { randomUUID } from 'node:crypto'
import { type Statement, sealKeyOf, writeTxt } from './announcement.ts'
import type { Network } from './networks.ts'

export interface SealParts {
  readonly nodeId: string
  /** Undefined without an account, or while the node has not received it. */
  readonly accountKey: () => string | undefined
  readonly statement: () => Pick<Statement, 'name' | 'services'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly isTimeTrusted: () => boolean
}

export interface Seals {
  /** The key of the present account. */
  key(): Buffer | undefined
  /** Unix milliseconds; 0 while the time is not trusted. */
  now(): number
  /** The strings of the TXT record. */
  txt(network: Network): readonly string[]
  /** Whatever `work` announces states that this node leaves. */
  leaving(work: () => void): void
  /** @param listener called when the account has another key, and for the first key */
  onKeyChange(listener: () => void): void
}

export function createSeals(parts: SealParts): Seals {
  const run = randomUUID()
  let current: { readonly accountKey: string | undefined; readonly key: Buffer | undefined } | undefined
  let isLeaving = false
  let keyChanged = (): void => undefined
  const now = () => (parts.isTimeTrusted() ? parts.now() : 0)

  function key(): Buffer | undefined {
    const accountKey = parts.accountKey()
    if (current === undefined || current.accountKey !== accountKey) {
      current = { accountKey, key: accountKey === undefined ? undefined : sealKeyOf(accountKey) }
      keyChanged()
    }
    return current.key
  }

  return {
    key,
    now,
    txt: ({ addresses: hosts }) =>
      writeTxt({ nodeId: parts.nodeId, ...parts.statement(), hosts, at: now(), run, isLeaving }, key()),
    leaving(work) {
      isLeaving = true
      work()
      isLeaving = false
    },
    onKeyChange(listener) {
      keyChanged = listener
    },
  }
}
