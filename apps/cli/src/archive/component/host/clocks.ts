/** `wasi:clocks` and `wasi:random`. */
import { Trap } from './failure.ts'
import { Pollable } from './io.ts'
import type { Session } from './session.ts'

const nanosecondsOf = (milliseconds: number): bigint => BigInt(Math.round(milliseconds * 1e6))
const maxTimerMs = 2 ** 31 - 1

export function createClocks(session: Session) {
  const now = () => nanosecondsOf(performance.now())

  /** Timers start when the component waits, and end with its request. */
  function subscribeInstant(when: bigint): Pollable {
    let waiting: Promise<void> | undefined
    const wait = () =>
      new Promise<void>((resolve) => {
        const left = Number((when - now()) / 1_000_000n) + 1
        const timer = setTimeout(done, Math.min(Math.max(left, 0), maxTimerMs))
        session.signal.addEventListener('abort', done, { once: true })
        function done() {
          clearTimeout(timer)
          session.signal.removeEventListener('abort', done)
          waiting = undefined
          resolve()
        }
      })
    return new Pollable(
      session,
      () => now() >= when,
      () => {
        waiting ??= wait()
        return waiting
      },
    )
  }

  const resolution = () => 1000n
  return {
    'wasi:clocks/monotonic-clock': {
      now,
      resolution,
      subscribeInstant,
      subscribeDuration: (duration: bigint) => subscribeInstant(now() + duration),
    },
    'wasi:clocks/wall-clock': {
      now: () => datetimeOf(Date.now()),
      resolution: () => ({ seconds: 0n, nanoseconds: 1_000_000 }),
    },
  }
}

const datetimeOf = (milliseconds: number) => ({
  seconds: BigInt(Math.floor(milliseconds / 1000)),
  nanoseconds: (milliseconds % 1000) * 1_000_000,
})

/** Bytes that one call returns. */
const maxRandomBytes = 1_048_576

/** Bytes that `crypto.getRandomValues` fills at once. */
const partBytes = 65_536

function randomBytes(length: bigint): Uint8Array {
  if (length > maxRandomBytes)
    throw new Trap(`${length} random bytes were requested, and one call returns ${maxRandomBytes}`)
  const bytes = new Uint8Array(Number(length))
  for (let at = 0; at < bytes.length; at += partBytes)
    crypto.getRandomValues(bytes.subarray(at, at + partBytes))
  return bytes
}

const randomNumber = (): bigint => crypto.getRandomValues(new BigUint64Array(1))[0]!

/** The interfaces for less than secure values return secure ones too. */
export const random = {
  'wasi:random/random': { getRandomBytes: randomBytes, getRandomU64: randomNumber },
  'wasi:random/insecure': { getInsecureRandomBytes: randomBytes, getInsecureRandomU64: randomNumber },
  'wasi:random/insecure-seed': { insecureSeed: (): [bigint, bigint] => [randomNumber(), randomNumber()] },
}
