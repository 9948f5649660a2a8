/**
 * Sends the newest fix to the discovery service, one request at a time. Fixes that arrive meanwhile replace each other, unless a
 * track is recorded. What could not be sent is sent after a reconnect. Without anything to send, the newest fix is sent again as a
 * keep-alive.
 */
import { type DiscoveryClient, isSelvedgeError } from '@selvedge/client'
import { RpcError } from '@selvedge/protocol'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import { waitAtMost } from '@selvedge/service-kit/share'
import type { DiscoverySession } from '../../device/cloud/discovery-session.ts'
import type { Link } from '../../device/cloud/link.ts'
import { createRetry } from '../../device/cloud/retry.ts'
import type { Away } from '../../device/cloud/return-watch.ts'
import type { Notices } from '../../device/node/notices.ts'
import type { StateStore } from '../../device/state.ts'
import type { DeviceClock } from '../../device/time/device-clock.ts'
import { showLate, waitLimitMs } from '../../device/time-limits.ts'
import {
  afterFailure,
  afterRefusal,
  afterSuccess,
  isOverdue,
  isRefused,
  isServed,
  keepAliveCheckMs,
  mayWait,
  nothingDelivered,
} from './publisher-delivery.ts'
import { type SendParts, sendReport } from './publisher-send.ts'
import { createTrack } from './publisher-track.ts'
import { createWaiters, type Waited } from './publisher-waiters.ts'

export interface Publisher {
  /** Resolves with whether the discovery service has this fix or a newer one, within two seconds. */
  publish(fixedAt: number): Promise<boolean>
  /** Reports to the service that the node's statement has changed. Resolves with whether it was received within two seconds. */
  restate(): Promise<boolean>
  /** Sends what an earlier run could not send, and keep-alives from then on. */
  resume(): void
  stop(): Promise<void>
}

/** Milliseconds that a caller waits for the discovery service. */
const waitTimeoutMs = 2000

export interface PublisherParts {
  /** Of the discovery service. */
  readonly url: string
  readonly client: DiscoveryClient
  readonly session: DiscoverySession
  readonly state: StateStore
  readonly clock: DeviceClock
  readonly link: Link
  readonly log: Log
  readonly notices: Notices
  readonly away?: Away
}

export function createPublisher(parts: PublisherParts): Publisher {
  const { url, client, session, state, clock, link, log, notices } = parts
  const waiters = createWaiters(waitTimeoutMs)
  const track = createTrack(notices)
  let delivery = nothingDelivered
  let owner = ''
  let timer: NodeJS.Timeout | undefined
  const now = () => clock.monotonic()
  const isAssociated = () => state.value.accountId !== ''
  const isKeepAliveDue = () => isOverdue(delivery, session.reportWithin(), now())
  const sending: SendParts = {
    ...{ client, session, log, track, account: presentAccount, onRefused },
    follow: (request) => showLate(link, url, request),
  }
  const retry = createRetry('publisher.send', sendAll, parts.away)

  /** Where the device was under a former account is no data of the present one. */
  function presentAccount(): string {
    const { accountId } = state.value
    if (owner === accountId) return owner
    owner = accountId
    track.clear()
    waiters.settle(false)
    return owner
  }

  function onRefused({ fixedAt }: { readonly fixedAt: number }): void {
    delivery = afterRefusal(delivery, fixedAt, now())
    // A statement that was sent with the fix is sent again without it.
    waiters.settle(false, (waited) => waited.statement === 0 && waited.fixedAt <= fixedAt)
  }

  /** Sends until nothing is left to send. @returns false after a failure */
  async function sendAll(): Promise<boolean> {
    for (;;) {
      const { fix: newest } = state.value
      const fix = newest && !isRefused(delivery, newest.fixedAt, now()) ? newest : null
      const newFix = fix?.published === false ? fix : undefined
      const isUpToDate = !newFix && delivery.known === delivery.stated && !isKeepAliveDue()
      if (!isAssociated() || isUpToDate) return true
      const startedAt = now()
      const statement = delivery.stated
      try {
        const sent = sendReport(sending, fix)
        noteLate(sent, startedAt)
        if (!(await sent)) continue
      } catch (cause) {
        onFailure(cause, startedAt)
        return false
      }
      link.succeeded()
      delivery = afterSuccess(delivery, { fixedAt: newFix?.fixedAt, statement }, now())
      if (newFix) markPublished(state, newFix.fixedAt)
      waiters.settle(true, (waited) => isServed(delivery, waited))
    }
  }

  /** Callers wait no longer while a report has no answer. */
  function noteLate(sent: Promise<unknown>, startedAt: number): void {
    waitAtMost(sent, waitLimitMs, () => {
      delivery = afterFailure(delivery, startedAt, now())
      waiters.settle(false)
      return new Error('no answer in time')
    })
  }

  function onFailure(cause: unknown, startedAt: number): void {
    if (!isSelvedgeError(cause) && !(cause instanceof RpcError))
      log.error('a fix could not be sent', { cause })
    // A failure of the identity service is an RpcError: it is reported there.
    if (!(cause instanceof RpcError)) link.failed((cause as Error).message)
    delivery = afterFailure(delivery, startedAt, now())
    waiters.settle(false)
  }

  function wait(waited: Waited): Promise<boolean> {
    presentAccount()
    if (!mayWait(delivery, now())) return Promise.resolve(false)
    const isPublished = waiters.wait(waited)
    retry.wake()
    return isPublished
  }

  return {
    publish(fixedAt) {
      presentAccount()
      const { fix, trackUntil } = state.value
      track.note(fix, trackUntil > clock.now(), delivery.acceptedUpTo)
      // A newer fix may have been sent while this one was written.
      return fixedAt <= delivery.acceptedUpTo ? Promise.resolve(true) : wait({ fixedAt, statement: 0 })
    },
    restate() {
      session.restate()
      delivery = { ...delivery, stated: delivery.stated + 1 }
      if (!isAssociated()) return Promise.resolve(false)
      return wait({ fixedAt: Number.NEGATIVE_INFINITY, statement: delivery.stated })
    },
    resume() {
      retry.wake()
      timer = setInterval(safely('publisher.look', retry.wakeIfIdle), keepAliveCheckMs)
    },
    async stop() {
      clearInterval(timer)
      waiters.settle(false)
      await retry.stop()
    },
  }
}

function markPublished(state: StateStore, fixedAt: number): void {
  state.updateLazily((value) =>
    value.fix?.fixedAt === fixedAt ? { ...value, fix: { ...value.fix, published: true } } : value,
  )
}
