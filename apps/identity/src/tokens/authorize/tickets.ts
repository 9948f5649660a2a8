/**
 * When a browser first came with an authorization request, as a sealed text that the page keeps: so a sign-in can be required that
 * is younger than the request, and nothing is stored for strangers.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@selvedge/service-kit/clock'

export interface Tickets {
  /** A ticket for a request that comes now. */
  make(query: string): string
  /** When the request first came, in Unix milliseconds; undefined if the ticket is not for it, or too old. */
  read(query: string, ticket: string): number | undefined
}

/** Milliseconds for which a person may think about a request. */
const lifeMs = 3_600_000

/** @param secret the same for all replicas */
export function createTickets(secret: Buffer, clock: Clock): Tickets {
  const key = createSecretKey(secret)
  const seal = (query: string, seenAt: number): string => {
    const tag = createHmac('sha256', key).update(`authorize ${seenAt} ${query}`).digest('base64url')
    return `${seenAt}.${tag}`
  }
  return {
    make: (query) => seal(query, clock.now()),
    read(query, ticket) {
      // Any text has a time or NaN here; only the one spelling that was sealed is equal to its seal.
      const seenAt = Number.parseInt(ticket, 10)
      const expected = Buffer.from(seal(query, seenAt))
      const given = Buffer.from(ticket)
      if (expected.length !== given.length || !timingSafeEqual(expected, given)) return undefined
      return clock.now() - seenAt <= lifeMs ? seenAt : undefined
    },
  }
}
