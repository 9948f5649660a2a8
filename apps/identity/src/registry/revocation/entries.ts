/** The entries of the list in memory, according to the rows of the store. A row is listed, or reports that its entry was removed. */
import type { Row } from '@selvedge/service-kit/store'
import { revocationEntry } from '@selvedge/service-kit/tokens'
import type { RowKind } from './rows.ts'

export interface ListContent {
  readonly revoked: readonly string[]
  readonly not_before: Readonly<Record<string, number>>
  readonly epochs: Readonly<Record<string, number>>
}

/** The entry of a row; the list contains a folded account as an account. */
export function entryOf(row: Row): string {
  const kind = row.kind as RowKind
  return revocationEntry(kind === 'folded' ? 'account' : kind, row.subject as string)
}

interface Ending {
  readonly notBefore: number
  readonly epoch: number
}

export class Entries {
  readonly #revoked = new Set<string>()
  readonly #endings = new Map<string, Ending>()
  /** Accounts that are listed because they revoked many tokens; an account may be in both. */
  readonly #folded = new Map<string, Ending>()

  apply(row: Row): void {
    const { kind, not_before, epoch, is_listed } = row as {
      kind: RowKind
      not_before: number
      epoch: number
      is_listed: number
    } & Row
    const entry = entryOf(row)
    if (kind === 'id') {
      if (is_listed === 1) this.#revoked.add(entry)
      else this.#revoked.delete(entry)
      return
    }
    const endings = kind === 'folded' ? this.#folded : this.#endings
    if (is_listed === 1) endings.set(entry, { notBefore: not_before, epoch })
    else endings.delete(entry)
  }

  clear(): void {
    for (const each of [this.#revoked, this.#endings, this.#folded]) each.clear()
  }

  /** All of it. */
  whole(): ListContent {
    const { not_before, epochs } = this.#describe([...this.#endings.keys(), ...this.#folded.keys()])
    return { revoked: [...this.#revoked], not_before, epochs }
  }

  /** How some entries are now. */
  among(entries: ReadonlySet<string>): ListContent & { readonly ended: readonly string[] } {
    const all = [...entries]
    const { not_before, epochs } = this.#describe(all)
    return {
      revoked: all.filter((entry) => this.#revoked.has(entry)),
      not_before,
      epochs,
      ended: all.filter((entry) => !this.#revoked.has(entry) && not_before[entry] === undefined),
    }
  }

  #describe(entries: readonly string[]) {
    const notBefore: Record<string, number> = {}
    const epochs: Record<string, number> = {}
    for (const entry of entries) {
      const [one, other] = [this.#endings.get(entry), this.#folded.get(entry)]
      if (!one && !other) continue
      notBefore[entry] = Math.max(one?.notBefore ?? 0, other?.notBefore ?? 0)
      epochs[entry] = Math.max(one?.epoch ?? 0, other?.epoch ?? 0)
    }
    return { not_before: notBefore, epochs }
  }
}
