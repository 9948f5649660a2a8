/**
 * Sends the newest fix to the discovery service. One request at a time; fixes that come meanwhile replace each other, since
 * only the newest is worth sending. What could not be sent is sent when the service is back.
 */
import { type DiscoveryClient, isSelvedgeError, OAuthFailure } from '@selvedge/client'
import { discoveryPaths, RpcError, readGpsSignal } from '@selvedge/protocol'
import { discoveryAudience } from '@selvedge/protocol/tokens'
import type { Log } from '@selvedge/service-kit/log'
import { createProof } from '@selvedge/service-kit/tokens'
import type { EdgeTokens } from '../cloud/edge-tokens.ts'
import type { Link } from '../cloud/link.ts'
import { createRetry } from '../cloud/retry.ts'
import type { NodeKey } from '../node/node-key.ts'
import type { StateStore, StoredFix } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'

export interface Publisher {
  /** Gives whether the discovery service has this fix or a newer one, within two seconds. */
  publish(fixedAt: number): Promise<boolean>
  /** Sends what is left from before. */
  resume(): void
  stop(): Promise<void>
}

/** Milliseconds that updateGps waits for the discovery service. */
const patience = 2000
/** A failure that took this many milliseconds is not worth waiting for again for a second; a quick one is tried each time. */
const slow = 500
const cooling = 1000

export interface PublisherParts {
  readonly url: string
  readonly client: DiscoveryClient
  readonly key: NodeKey
  readonly tokens: EdgeTokens
  readonly state: StateStore
  readonly clock: DeviceClock
  readonly link: Link
  readonly log: Log
}

interface Waiter {
  readonly fixedAt: number
  readonly settle: (published: boolean) => void
}

export function createPublisher(parts: PublisherParts): Publisher {
  const { state, clock, link, log, tokens } = parts
  let waiters: Waiter[] = []
  let failedAt = Number.NEGATIVE_INFINITY
  /** The latest fix that the service has accepted since the start. */
  let acceptedUpTo = Number.NEGATIVE_INFINITY
  const retry = createRetry(sendNewest)

  function settle(published: boolean, upTo: number): void {
    const served = waiters.filter(({ fixedAt }) => fixedAt <= upTo)
    waiters = waiters.filter(({ fixedAt }) => fixedAt > upTo)
    for (const each of served) each.settle(published)
  }

  /** Sends until nothing is left to send; gives false after a failure. */
  async function sendNewest(): Promise<boolean> {
    for (;;) {
      const { fix } = state.value
      if (!fix || fix.published) return true
      const begunAt = clock.monotonic()
      try {
        await send(fix)
      } catch (cause) {
        if (!isSelvedgeError(cause) && !(cause instanceof RpcError))
          log.error('a fix could not be sent', { cause })
        if (cause instanceof OAuthFailure && cause.reason === 'invalid_token') tokens.forget()
        if (!(cause instanceof RpcError)) link.failed((cause as Error).message)
        if (clock.monotonic() - begunAt > slow) failedAt = clock.monotonic()
        settle(false, Number.POSITIVE_INFINITY)
        return false
      }
      link.succeeded()
      failedAt = Number.NEGATIVE_INFINITY
      state.updateLazily((value) =>
        value.fix?.fixedAt === fix.fixedAt ? { ...value, fix: { ...value.fix, published: true } } : value,
      )
      acceptedUpTo = fix.fixedAt
      settle(true, fix.fixedAt)
    }
  }

  async function send({ signal, fixedAt }: StoredFix): Promise<void> {
    const { client, key, url } = parts
    const token = await tokens.get(discoveryAudience)
    const { privateKey, jwk } = key.signing
    const htu = url + discoveryPaths.fixes
    const prove = (nonce: string | undefined) =>
      createProof({ key: privateKey, jwk, htm: 'POST', htu, clock, nonce, accessToken: token })
    await client.report({ ...readGpsSignal(signal, []), fixedAt }, token, prove)
  }

  return {
    publish(fixedAt) {
      // A newer one may have gone out while this one was being written.
      if (fixedAt <= acceptedUpTo) return Promise.resolve(true)
      if (clock.monotonic() - failedAt < cooling) return Promise.resolve(false)
      return new Promise<boolean>((resolve) => {
        const late = setTimeout(() => resolve(false), patience)
        waiters.push({
          fixedAt,
          settle(published) {
            clearTimeout(late)
            resolve(published)
          },
        })
        retry.wake()
      })
    },
    resume: () => retry.wake(),
    async stop() {
      settle(false, Number.POSITIVE_INFINITY)
      await retry.stop()
    },
  }
}
