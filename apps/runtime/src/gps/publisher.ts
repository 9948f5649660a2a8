/**
 * Sends the newest fix to the discovery service. One request at a time; fixes that come meanwhile replace each other, since
 * only the newest is worth sending, unless a track is kept. What could not be sent is sent after a reconnect. If there was nothing
 * to send for a while, the newest fix is sent again as a keep-alive.
 */
import { type AuthorizeRequest, type DiscoveryClient, isSelvedgeError, OAuthFailure } from '@selvedge/client'
import { type FixInput, maxFixes, RpcError, readGpsSignal } from '@selvedge/protocol'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import type { DiscoverySession } from '../cloud/discovery-session.ts'
import type { Link } from '../cloud/link.ts'
import { createRetry } from '../cloud/retry.ts'
import type { Notices } from '../node/notices.ts'
import type { StateStore, StoredFix } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'

export interface Publisher {
  /** Gives whether the discovery service has this fix or a newer one, within two seconds. */
  publish(fixedAt: number): Promise<boolean>
  /** Reports to the service that the node's statement has changed. Resolves with whether it was received within two seconds. */
  restate(): Promise<boolean>
  /** Sends what is left from before, and signs of life from then on. */
  resume(): void
  stop(): Promise<void>
}

/** Milliseconds that a caller waits for the discovery service. */
const timeoutMs = 2000
/** A failure that took this many milliseconds is not worth waiting for again for a second; a quick one is tried each time. */
const slow = 500
const cooling = 1000
/** Milliseconds between two checks whether a keep-alive is due. */
const look = 5000
/** Milliseconds after which a fix that the service refused is sent again: its clock, or the one of this device, may have been wrong. */
const refusedMs = 60_000

export interface PublisherParts {
  readonly client: DiscoveryClient
  readonly session: DiscoverySession
  readonly state: StateStore
  readonly clock: DeviceClock
  readonly link: Link
  readonly log: Log
  readonly notices: Notices
}

interface Waiter {
  /** The fix, or the number of the statement, that the caller waits for. */
  readonly fixedAt: number
  readonly statement: number
  readonly settle: (published: boolean) => void
}

/** Callers that wait until the discovery service has their fix, or knows their statement. */
function createWaiters() {
  let waiters: Waiter[] = []
  return {
    settle(published: boolean, isServed: (waiter: Waiter) => boolean = () => true): void {
      const served = waiters.filter(isServed)
      waiters = waiters.filter((each) => !isServed(each))
      for (const each of served) each.settle(published)
    },
    wait: (fixedAt: number, statement: number): Promise<boolean> =>
      new Promise((resolve) => {
        const late = setTimeout(() => resolve(false), timeoutMs)
        waiters.push({
          fixedAt,
          statement,
          settle(published) {
            clearTimeout(late)
            resolve(published)
          },
        })
      }),
  }
}

export function createPublisher({
  client,
  session,
  state,
  clock,
  link,
  log,
  notices,
}: PublisherParts): Publisher {
  const waiters = createWaiters()
  let failedAt = Number.NEGATIVE_INFINITY
  /** The latest fix that the service has accepted since the start. */
  let acceptedUpTo = Number.NEGATIVE_INFINITY
  /** Numbers of the newest statement, and of the newest that the service knows. */
  let stated = 0
  let known = 0
  let heardAt = Number.NEGATIVE_INFINITY
  /** Fixes that were replaced before they were sent, while a track is kept. */
  let passed: StoredFix[] = []
  let seen: StoredFix | null = null
  /** The newest fix, while the service refuses it. Later ones are sent. */
  let refused = { fixedAt: Number.NEGATIVE_INFINITY, at: Number.NEGATIVE_INFINITY }
  let owner = ''
  let timer: NodeJS.Timeout | undefined
  const isAssociated = () => state.value.accountId !== ''
  // A minimum, whatever the service requests: with an interval of 0, keep-alives would follow each other without a pause.
  const isOverdue = () => clock.monotonic() - heardAt >= Math.max(look, session.reportWithin())
  /** The newest fix, unless the service just refused it. */
  const sendable = (fix: StoredFix | null): StoredFix | null =>
    fix?.fixedAt === refused.fixedAt && clock.monotonic() - refused.at < refusedMs ? null : fix
  const retry = createRetry('publisher.send', sendNewest)

  /** Sends until nothing is left to send; gives false after a failure. */
  async function sendNewest(): Promise<boolean> {
    for (;;) {
      const fix = sendable(state.value.fix)
      const isNew = fix !== null && !fix.published
      if (!isAssociated() || (!isNew && known === stated && !isOverdue())) return true
      const begunAt = clock.monotonic()
      const statement = stated
      try {
        if (!(await send(fix))) continue
      } catch (cause) {
        if (!isSelvedgeError(cause) && !(cause instanceof RpcError))
          log.error('a fix could not be sent', { cause })
        if (!(cause instanceof RpcError)) link.failed((cause as Error).message)
        if (clock.monotonic() - begunAt > slow) failedAt = clock.monotonic()
        waiters.settle(false)
        return false
      }
      link.succeeded()
      failedAt = Number.NEGATIVE_INFINITY
      heardAt = clock.monotonic()
      known = Math.max(known, statement)
      if (isNew) {
        state.updateLazily((value) =>
          value.fix?.fixedAt === fix.fixedAt ? { ...value, fix: { ...value.fix, published: true } } : value,
        )
        acceptedUpTo = fix.fixedAt
      }
      waiters.settle(true, (waiter) => waiter.fixedAt <= acceptedUpTo && waiter.statement <= known)
    }
  }

  /** Where the device was under a former account is that account's business. @returns the present account */
  function forgetFormer(): string {
    const { accountId } = state.value
    if (owner === accountId) return owner
    owner = accountId
    passed = []
    notices.clear('fixes_dropped')
    seen = null
    waiters.settle(false)
    return owner
  }

  /** Drops fixes that were replaced already, else sets the newest aside. @returns whether there is less to send than before */
  function setAside(batch: readonly StoredFix[], newest: StoredFix | null, cause: Error): boolean {
    if (batch.length === 0 && !newest) return false
    log.warn('the discovery service refused fixes', { fixes: batch.length || 1, reason: cause.message })
    if (batch.length === 0 && newest) {
      refused = { fixedAt: newest.fixedAt, at: clock.monotonic() }
      waiters.settle(false, ({ fixedAt }) => fixedAt <= newest.fixedAt)
    }
    return true
  }

  /**
   * @returns false when the service refused what would be refused again, or the device changed hands: it is not sent again, so that
   * others can be sent
   */
  async function send(newest: StoredFix | null): Promise<boolean> {
    const accountId = forgetFormer()
    const batch = passed.splice(0, maxFixes - 1)
    const fixes = [...batch, ...(newest ? [newest] : [])].map(toReport)
    let refusal: OAuthFailure | undefined
    const report = (authorize: AuthorizeRequest) =>
      client.report(fixes, authorize).catch((cause: unknown) => {
        if (cause instanceof OAuthFailure && cause.reason === 'invalid_request') refusal = cause
        throw cause
      })
    try {
      await session.use(report)
      if (passed.length === 0) notices.clear('fixes_dropped')
      return true
    } catch (cause) {
      // The device changed hands meanwhile: the fixes of this report are dropped.
      if (forgetFormer() !== accountId) return false
      if (cause === refusal && setAside(batch, newest, cause as OAuthFailure)) return false
      keep([...batch, ...passed])
      throw cause
    }
  }

  /** Keeps the newest of the fixes that wait, as many as fit in one report with the next one. */
  function keep(fixes: readonly StoredFix[]): void {
    passed = fixes.slice(1 - maxFixes)
    const dropped = fixes.length - passed.length
    if (dropped > 0) notices.raise('fixes_dropped', { dropped, kept: passed.length })
  }

  /** With a track, what is replaced unsent is kept for it, as far as one report goes. */
  function keepForTrack(): void {
    forgetFormer()
    const { fix, trackUntil } = state.value
    const isReplaced = seen && seen.fixedAt > acceptedUpTo && seen.fixedAt !== fix?.fixedAt
    if (isReplaced && trackUntil > clock.now()) keep([...passed, seen!])
    seen = fix
  }

  function wait(fixedAt: number, statement: number): Promise<boolean> {
    forgetFormer()
    if (clock.monotonic() - failedAt < cooling) return Promise.resolve(false)
    const published = waiters.wait(fixedAt, statement)
    retry.wake()
    return published
  }

  return {
    publish(fixedAt) {
      keepForTrack()
      // A newer one may have gone out while this one was being written.
      if (fixedAt <= acceptedUpTo) return Promise.resolve(true)
      return wait(fixedAt, 0)
    },
    restate() {
      session.restate()
      stated++
      return isAssociated() ? wait(Number.NEGATIVE_INFINITY, stated) : Promise.resolve(false)
    },
    resume() {
      retry.wake()
      const wakeIfOverdue = () => {
        if (isAssociated() && isOverdue()) retry.wakeIfIdle()
      }
      timer = setInterval(safely('publisher.look', wakeIfOverdue), look)
    },
    async stop() {
      clearInterval(timer)
      waiters.settle(false)
      await retry.stop()
    },
  }
}

const toReport = ({ signal, fixedAt, source, accuracy }: StoredFix): FixInput => ({
  ...readGpsSignal(signal, []),
  fixedAt,
  source,
  ...(accuracy !== null && { accuracy }),
})
