/** A ticket proves when a browser first came with a request; it is text that any client may change. */
import { createFakeClock } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { createTickets } from './tickets.ts'

const clock = createFakeClock()
const secret = Buffer.alloc(32, 1)
const tickets = createTickets(secret, clock)
const query = 'client_id=c&state=s'
const hourMs = 3_600_000

it('a ticket has the time when the request first came, for one hour', () => {
  const seenAt = clock.now()
  const ticket = tickets.make(query)
  expect(tickets.read(query, ticket)).toBe(seenAt)
  clock.advance(hourMs)
  expect(tickets.read(query, ticket)).toBe(seenAt)
  clock.advance(1)
  expect(tickets.read(query, ticket)).toBeUndefined()
})

it('a ticket is for its query only', () => {
  expect(tickets.read(`${query}&max_age=0`, tickets.make(query))).toBeUndefined()
})

it('every replica with the secret reads a ticket, and no one without it', () => {
  const ticket = tickets.make(query)
  expect(createTickets(Buffer.alloc(32, 1), clock).read(query, ticket)).toBe(clock.now())
  expect(createTickets(Buffer.alloc(32, 2), clock).read(query, ticket)).toBeUndefined()
})

it('a changed ticket is refused: time, seal, and anything around them', () => {
  const ticket = tickets.make(query)
  const [time, seal = ''] = ticket.split('.')
  const other = seal.startsWith('A') ? 'B' : 'A'
  const changed = [
    `${Number(time) + 1}.${seal}`,
    `${Number(time) - 1}.${seal}`,
    `0${ticket}`,
    `${time}.${other}${seal.slice(1)}`,
    `${time}.${seal.slice(1)}`,
    `${time}.`,
    `${ticket}x`,
    `x${ticket}`,
    `${ticket}\n`,
    `+${ticket}`,
    ` ${ticket}`,
    `NaN.${seal}`,
    '',
  ]
  for (const each of changed) expect([each, tickets.read(query, each)]).toEqual([each, undefined])
})
