/**
 * The signed list of revocations that runtimes fetch: the whole list, or the changes since a state that the runtime has. Each
 * change has a number in the store. All replicas sign the same content under the same number, and the numbers decide which of
 * two lists is newer, not a clock.
 */
import { randomUUID } from 'node:crypto'
import { type RevocationsClaims, revocationsAudience, revocationsProfile } from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import { type Shared, shareResult, shareRun } from '@selvedge/service-kit/share'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import type { SigningKeys } from '../keys/signing-keys.ts'
import { Entries, entryOf, type ListContent } from './entries.ts'
import { newMark } from './rows.ts'

/** A state of the list. After the store is restored from a backup, numbers are used again; `mark` is random and differs. */
export interface ListState {
  readonly seq: number
  readonly mark: string
}

interface SignedList {
  readonly token: string
  readonly etag: string
}

export interface RevocationList {
  /**
   * What a runtime needs.
   *
   * @param since the state that it has; undefined if it has no state
   * @returns 'unchanged' if its state is the newest
   */
  answer(since: ListState | undefined): Promise<SignedList | 'unchanged'>
}

export interface ListParts {
  readonly store: SqlStore
  readonly clock: Clock
  readonly keys: SigningKeys
  readonly issuer: () => string
  /** Milliseconds that only grow. */
  readonly monotonic?: () => number
}

/**
 * `pullMs`: between two reads of the store. `shareOfCpu`: of the event loop that signing the whole list may take at most.
 * `resignMs`: after which an unchanged list is signed again, so that its age is short. `lifeSeconds`: for which it is valid.
 */
const times = { pullMs: 500, shareOfCpu: 0.02, resignMs: 300_000, lifeSeconds: 30 * 86_400 }
/** Maximum changed entries in one answer; a runtime that is further behind gets the whole list. */
const maxChanges = 2000
/** Maximum answers to different states in the cache, while the list does not change. */
const maxAnswers = 64

/** Makes sure that the present state has a mark. */
export async function openRevocationList(parts: ListParts): Promise<RevocationList> {
  const { store, clock, keys, issuer, monotonic = () => performance.now() } = parts
  const entries = new Entries()
  /** At first a state that the store does not have. */
  let state: ListState = { seq: -1, mark: '' }
  let pulledAt = Number.NEGATIVE_INFINITY
  /** The whole list as it was signed last, without and with the mark that it was restarted. */
  const signed = new Map<boolean, { of: ListState; list: SignedList; at: number; tookMs: number }>()
  /** By the number of the state that they are for. */
  let answers = new Map<number, Shared<SignedList>>()

  await store.run(sql`INSERT INTO revocation_steps
    SELECT value, CAST(${newMark()} AS TEXT), CAST(${clock.now()} AS BIGINT) FROM counters WHERE name = 'revocations'
    ON CONFLICT DO NOTHING`)

  /** Reads what is new. The state is read before the rows: the rows may be newer than the state, and never older. */
  async function pull(): Promise<void> {
    const [newest] = await store.run(sql`SELECT seq, mark FROM revocation_steps ORDER BY seq DESC LIMIT 1`)
    const next = newest as unknown as ListState
    if (next.mark === state.mark) return
    const isContinued = await isKnown(state)
    const rows = await store.run(
      isContinued
        ? sql`SELECT kind, subject, not_before, epoch, is_listed FROM revocations WHERE seq > ${state.seq}`
        : sql`SELECT kind, subject, not_before, epoch, is_listed FROM revocations WHERE is_listed = 1`,
    )
    if (!isContinued) entries.clear()
    for (const row of rows) entries.apply(row)
    state = next
    answers = new Map()
  }

  async function isKnown({ seq, mark }: ListState): Promise<boolean> {
    const [step] = await store.run(sql`SELECT mark FROM revocation_steps WHERE seq = ${seq}`)
    return step?.mark === mark
  }

  /** Whether what changed since then is no longer known. */
  async function isTooOld({ seq }: ListState): Promise<boolean> {
    const [oldest] = await store.run(sql`SELECT MIN(seq) AS seq FROM revocation_steps`)
    return seq < Number(oldest!.seq)
  }

  const refresh = shareRun(async () => {
    await pull()
    pulledAt = monotonic()
  })

  function sign(of: ListState, content: ListContent & Partial<RevocationsClaims>): SignedList {
    const now = seconds(clock)
    const claims: RevocationsClaims = {
      iss: issuer(),
      sub: issuer(),
      aud: revocationsAudience,
      iat: now,
      exp: now + times.lifeSeconds,
      jti: randomUUID(),
      ...of,
      ...content,
    }
    return { token: keys.sign(revocationsProfile.typ, claims), etag: `"${of.seq}-${of.mark}"` }
  }

  /**
   * Signs the whole list, at a limited rate: if it was signed a moment ago, that list is returned although the state is newer.
   *
   * @param restarted informs a runtime that its own state is not known here
   * @param atLeast number of the state that it must have
   */
  function signWhole(restarted: boolean, atLeast: number): SignedList {
    const begun = monotonic()
    const last = signed.get(restarted)
    const pause = last?.of === state ? times.resignMs : (last?.tookMs ?? 0) / times.shareOfCpu
    if (last && last.of.seq >= atLeast && begun - last.at < pause) return last.list
    const list = sign(state, { ...(restarted && { restarted }), ...entries.whole() })
    signed.set(restarted, { of: state, list, at: begun, tookMs: monotonic() - begun })
    return list
  }

  async function signChanges(since: number): Promise<SignedList> {
    const of = state
    const rows = await store.run(
      sql`SELECT kind, subject FROM revocations WHERE seq > ${since} AND seq <= ${of.seq} LIMIT ${maxChanges + 1}`,
    )
    if (rows.length > maxChanges) return signWhole(false, since)
    return sign(of, { since, ...entries.among(new Set(rows.map(entryOf))) })
  }

  function answerSince(since: number): Promise<SignedList> {
    const known = answers.get(since)
    if (known) return known()
    const answer = shareResult(() => signChanges(since))
    if (answers.size < maxAnswers) answers.set(since, answer)
    return answer()
  }

  return {
    async answer(since) {
      if (monotonic() - pulledAt >= times.pullMs) await refresh()
      if (!since) return signWhole(false, 0)
      if (since.mark === state.mark) return 'unchanged'
      if (await isTooOld(since)) return signWhole(false, 0)
      if (!(await isKnown(since))) return signWhole(true, 0)
      // Another replica may have signed a state that this one has not read yet.
      return since.seq > state.seq ? 'unchanged' : answerSince(since.seq)
    },
  }
}
