/** What was revoked before it expired. Every exchange and every introspection checks this, so it is in memory. */
import { type SteadyClock, seconds } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import {
  type Ending,
  findRevocation,
  type RevocableClaims,
  type RevocationKind,
} from '@selvedge/service-kit/tokens'
import type { Changes, Topic } from '../../storage/changes/changes.ts'
import type { Folding } from './folding.ts'
import { maxAccessSeconds, type RevocationRow, type RowKind, revocationStatements } from './rows.ts'
import { treeStatements } from './tree.ts'

/** What an `id` that is revoked is about. Times are Unix seconds. */
interface RevokedId {
  /** When it expires by itself. */
  readonly endsAt: number
  /** Whose it is; "" if unknown. */
  readonly accountId: string
  /** When the last access token that was issued from it expires; 0: no such token exists; absent: the maximum lifetime. */
  readonly checkedUntil?: number
}

type RevokedEdge = Pick<RevokedId, 'endsAt' | 'accountId'>

/** What may have all its tokens revoked. */
type SubjectKind = Exclude<RevocationKind, 'id' | 'edge'>

/** Statements of the same transaction, and what they change. */
interface More {
  readonly statements: readonly Statement[]
  readonly noted: readonly (readonly [Topic, string])[]
}

const nothingMore: More = { statements: [], noted: [] }

export interface Revocations {
  /** Why a token is revoked; undefined if it is not. */
  reasonFor(claims: RevocableClaims, clientId?: string): string | undefined
  /** Why an edge ID token is not valid any more; undefined if it is. Revoking one ends the older ones of its node, too. */
  edgeReasonFor(claims: Pick<RevocableClaims, 'jti' | 'iat' | 'node_id'>): string | undefined
  /** Revokes one token. What is revoked already stays as it is. @returns whether it was not revoked yet */
  revokeId(id: string, what: RevokedId): Promise<boolean>
  /**
   * Revokes the edge ID tokens that a node got until a Unix second. The list names a node with an account only: any stranger may enrol
   * one without, and every device fetches the list.
   *
   * @param what `endsAt`: Unix second at which the last of them expires; `accountId`: of the node, or ""
   * @returns whether one of them was not revoked yet
   */
  revokeEdge(nodeId: string, issuedAt: number, what: RevokedEdge): Promise<boolean>
  /**
   * Revokes every token of an account, node or client that was issued until now; those issued after this returns are valid.
   * No clock plays a part: tokens carry the number of the newest change that their issuer knew.
   *
   * @param more statements of the same transaction, and what they change
   */
  revokeAll(kind: SubjectKind, subject: string, more?: More): Promise<Row[][]>
  /**
   * Revokes developer ID tokens and sign-ins, and every sign-in that came from them, in one transaction. Repeating it completes
   * what is missing, also of what is marked as revoked already.
   *
   * @param roots gives one column, `id`: the `jti` or `sid` of each of them; runs after `more.statements`, several times
   * @returns the rows of `more.statements` first, and whether any of the tokens and sign-ins was not revoked yet
   */
  revokeTree(roots: Statement, more?: More): Promise<{ readonly rows: Row[][]; readonly isNews: boolean }>
  /** Whether a token or sign-in was revoked by its identifier, as far as this process knows. */
  isRevoked(id: string): boolean
  /** Frees the memory of what expired. @param now Unix milliseconds */
  forgetEnded(now: number): void
}

/** What lasts and ends with an account, a node or a client: it is shown as revoked, too. */
export const endings: Readonly<Record<SubjectKind, (subject: string, now: number) => readonly Statement[]>> =
  {
    account: (id, now) => [
      sql`UPDATE developer_tokens SET revoked_at = COALESCE(revoked_at, ${now}) WHERE account_id = ${id}`,
      sql`UPDATE sign_ins SET revoked_at = COALESCE(revoked_at, ${now}) WHERE account_id = ${id}`,
    ],
    node: (id, now) => [
      sql`UPDATE sign_ins SET revoked_at = COALESCE(revoked_at, ${now}) WHERE node_id = ${id}`,
    ],
    lease: () => [],
    client: (id, now) => [
      sql`UPDATE developer_tokens SET revoked_at = COALESCE(revoked_at, ${now}) WHERE client_id = ${id}`,
      sql`UPDATE sign_ins SET revoked_at = COALESCE(revoked_at, ${now}) WHERE client_id = ${id}`,
    ],
  }

interface Entry extends Ending {
  readonly kind: RowKind
  readonly epoch: number
  readonly expiresAt: number
  readonly accountId: string
}

/** Seconds by which the clocks of two replicas may differ. */
const skewSeconds = 60

/** @param maxLifeSeconds seconds for which a token may live */
export async function openRevocations(
  store: SqlStore,
  clock: SteadyClock,
  changes: Changes,
  maxLifeSeconds: number,
  folding: Folding,
): Promise<Revocations> {
  const keyOf = (kind: RowKind, subject: string) => `${kind}:${subject}`
  let newest = -1
  const known = await changes.copy<Entry>({
    topic: 'revocation',
    readAll: () => readSince(-1),
    readNew: () => readSince(newest),
  })
  const entryOf = (kind: RowKind, subject: string) => known.get(keyOf(kind, subject))
  /** The same from memory that may be outdated: an entry is certain, its absence is not. */
  const heldOf = (kind: RowKind, subject: string) => known.held().get(keyOf(kind, subject))

  /** @param epoch number of a change; revocations of later ones are read */
  async function readSince(epoch: number): Promise<Map<string, Entry>> {
    const rows = await store.run(
      sql`SELECT * FROM revocations WHERE epoch > ${epoch} AND expires_at >
        ${clock.past()}`,
    )
    newest = rows.reduce((latest, row) => Math.max(latest, row.epoch as number), newest)
    return new Map(rows.map((row) => [keyOf(row.kind as RowKind, row.subject as string), toEntry(row)]))
  }

  /** Whether all tokens of its account were revoked later. */
  function isCovered({ accountId, notBefore, epoch }: Entry): boolean {
    const all = heldOf('account', accountId)
    return all !== undefined && epoch < all.epoch && notBefore + skewSeconds < all.notBefore
  }

  async function write(row: RevocationRow): Promise<void> {
    await changes.commit(revocationStatements(row, clock.now()), [
      ['revocation', keyOf(row.kind, row.subject)],
    ])
  }

  /** After single revocations of an account: there may be too many. */
  async function bound(accountId: string): Promise<void> {
    if (accountId !== '' && (await folding.check(accountId)))
      await revokeAll('account', accountId, { ...nothingMore, statements: [folding.end(accountId)] })
  }

  const revokeAll: Revocations['revokeAll'] = (kind, subject, more = nothingMore) => {
    // For tokens without an epoch: their times of issue are whole seconds.
    const notBefore = seconds(clock) + 1
    const row: RevocationRow = {
      kind,
      subject,
      notBefore,
      expiresAt: (notBefore + maxLifeSeconds) * 1000,
      accountId: '',
      listedUntil: (notBefore + maxAccessSeconds) * 1000,
      leasesAt: clock.now(),
    }
    const made = [...endings[kind](subject, clock.now()), ...revocationStatements(row, clock.now())]
    return changes.commit(
      [...more.statements, ...made],
      [['revocation', keyOf(kind, subject)], ...more.noted],
    )
  }

  return {
    revokeAll,
    reasonFor(claims, clientId) {
      if (known.all().size === 0) return undefined
      const whole = clientId === undefined ? claims : { ...claims, client_id: clientId }
      return findRevocation(whole, entryOf)
    },
    edgeReasonFor({ jti, iat, node_id = '' }) {
      const isRevoked = entryOf('id', jti) !== undefined || iat < (entryOf('edge', node_id)?.notBefore ?? 0)
      return isRevoked ? 'it was revoked' : undefined
    },
    async revokeTree(roots, more = nothingMore) {
      const rows = await changes.commit(
        [...more.statements, ...treeStatements(roots, clock.now())],
        [['revocation', ''], ...more.noted],
      )
      const accounts = new Set(rows.at(-1)!.map((row) => row.account_id as string))
      for (const accountId of accounts) await bound(accountId)
      return { rows, isNews: accounts.size > 0 }
    },
    isRevoked: (id) => heldOf('id', id) !== undefined,
    async revokeId(id, { endsAt, accountId, ...rest }) {
      if (heldOf('id', id)) return false
      const at = seconds(clock)
      const { checkedUntil = at + maxAccessSeconds } = rest
      const listedUntil = checkedUntil === 0 ? 0 : (checkedUntil + skewSeconds) * 1000
      const expiresAt = (Math.max(endsAt, checkedUntil) + skewSeconds) * 1000
      await write({ kind: 'id', subject: id, notBefore: at, expiresAt, accountId, listedUntil })
      await bound(accountId)
      return true
    },
    async revokeEdge(nodeId, issuedAt, { endsAt, accountId }) {
      const notBefore = issuedAt + 1
      if ((heldOf('edge', nodeId)?.notBefore ?? 0) >= notBefore) return false
      const expiresAt = (endsAt + skewSeconds) * 1000
      const times = { notBefore, expiresAt, listedUntil: accountId === '' ? 0 : expiresAt }
      await write({ kind: 'edge', subject: nodeId, accountId: '', ...times })
      return true
    },
    forgetEnded(now) {
      known.prune((each) => each.expiresAt <= now || isCovered(each))
    },
  }
}

function toEntry(row: Row): Entry {
  const { kind, not_before, epoch, expires_at, account_id } = row as never
  return { kind, notBefore: not_before, epoch, expiresAt: expires_at, accountId: account_id }
}
