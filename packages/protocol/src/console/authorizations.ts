/** Apps that a person signs in to: the request of an app, the person's decision, and signing out of it. */
import * as z from 'zod'
import { method, param } from '../methods/method.ts'
import { any, text } from './params.ts'
import * as records from './records.ts'

const query = param(
  'query',
  z.string().max(16_384),
  'a text of at most 16384 characters',
  'The query of the page, without "?".',
)
const anyone = { caller: 'anyone' } as const

export const authorizationMethods = {
  'authorization.begin': method({
    name: 'authorization.begin',
    summary: 'The request of an app, or the address to which the browser is redirected at once.',
    params: [
      query,
      param(
        'ticket',
        z.string().max(100).nullable(),
        'a ticket or null',
        'Ticket of an earlier call with the same query; null at first.',
      ),
    ],
    result: records.authorizationStep,
    reasons: [],
    access: anyone,
  }),
  'authorization.decide': method({
    name: 'authorization.decide',
    summary: 'Approves or refuses the request of an app.',
    params: [
      query,
      text('ticket', 100, 'Ticket of "authorization.begin".'),
      param('approve', z.boolean(), 'true or false', 'Whether the app may act.'),
    ],
    result: records.authorizationStep,
    reasons: ['step_up_required'],
    access: any,
  }),
  'logout.look': method({
    name: 'logout.look',
    summary: 'The app that wants a person signed out.',
    params: [query],
    result: records.logoutRequest,
    reasons: [],
    access: anyone,
  }),
  'logout.finish': method({
    name: 'logout.finish',
    summary: 'Signs out of an app, and of the console if the person wants that too.',
    params: [
      query,
      param('everywhere', z.boolean(), 'true or false', 'Whether the session of the console ends, too.'),
    ],
    result: records.logoutRequest,
    reasons: [],
    access: anyone,
  }),
} as const
