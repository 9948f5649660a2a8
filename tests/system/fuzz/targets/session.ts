import { createHmac } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import { createSessionKeeper, deriveKey } from '@selvedge/service-kit/tokens'
import type { Mutator } from '../engine/target.ts'
import { expectThat, outcomeOf, type Target } from '../engine/target.ts'
import { clock, now } from './keys.ts'

const secret = Buffer.alloc(32, 9)
const ticketsKey = deriveKey(secret, 'session tickets')
const mac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** An Authorization header and a body, a line each. */
function seed(body: string, at = '10', end = now + 600_000): Buffer {
  const times = Buffer.alloc(12)
  times.writeUIntBE(now - 10, 0, 6)
  times.writeUIntBE(end, 6, 6)
  const ticket = Buffer.concat([times, Buffer.from('content of the session')]).toString('base64url')
  return sealed(ticket, at, body)
}

function sealed(ticket: string, at: string, body: string): Buffer {
  const shown = mac(mac(ticketsKey, ticket), `POST /fixes ${at}\n${body}`).toString('base64url')
  return Buffer.from(`Session ${ticket}.${at}.${shown}\n${body}`)
}

/** Signs the request again, with the key that belongs to its ticket. */
const sign: Mutator = (input) => {
  const [line = '', ...rest] = input.toString('latin1').split('\n')
  const [ticket = '', at = ''] = line.replace('Session ', '').split('.')
  return sealed(ticket, at, rest.join('\n'))
}

/** Requests that are signed with the key of a session. */
export const session: Target = {
  name: 'session',
  covers: ['packages/service-kit/src/tokens/session.ts'],
  seeds: () => [seed('{}'), seed('x'.repeat(20_000)), seed('', '0'), seed('{}', '10', now - 1)],
  mutators: [sign],
  words: ['Session ', '.', '..', '=', '\n', '-1', 'NaN', 'Infinity'],
  maxBytes: 32 * 1024,
  open: () => {
    const keeper = createSessionKeeper(secret, clock)
    return {
      parse: (input) => {
        const text = input.toString('latin1')
        const end = text.indexOf('\n')
        const authorization = end === -1 ? text : text.slice(0, end)
        const body = end === -1 ? '' : text.slice(end + 1)
        return outcomeOf(() => {
          const { sentAt } = keeper.check({ authorization, method: 'POST', path: '/fixes', body })
          expectThat(Math.abs(sentAt - now) <= 60_000, `a request of ${sentAt} is valid`)
        }, [OAuthError])
      },
    }
  },
}
