import * as z from 'zod'
import { eventNotification, expectedTopics, streamLimits, topicList } from '../events/topics.ts'
import { method, param } from './method.ts'
import { edgeAccessToken } from './values.ts'

const access = { caller: 'token', token: 'associated' } as const
const id = z.string().min(1).max(64).describe('ID of the subscription, for this connection')

export const subscribe = method({
  name: 'subscribe',
  summary: 'Sends the current state of topics, and then each change, as notifications on this WebSocket.',
  description:
    `Each is {"method": "${eventNotification}", "params": {"subscription", "topic", "data", "lost"}}; "lost" counts events that this reader was too slow for. ` +
    'The last one has "end" with the reason instead: the token expired or was revoked, or the node changed its account. ' +
    `A caller has at most ${streamLimits.ofCaller} streams. Over HTTP, use GET /jsonrpc/v1/events?topics=….`,
  params: [edgeAccessToken, param('topics', topicList, `a list of ${expectedTopics}`, 'What to follow.')],
  result: z.object({ subscription: id }),
  reasons: ['insufficient_scope', 'websocket_required', 'busy'],
  access,
})

export const unsubscribe = method({
  name: 'unsubscribe',
  summary: 'Ends a subscription of this WebSocket.',
  params: [
    edgeAccessToken,
    param('subscription', id, 'the ID that subscribe returned', 'The subscription to end.'),
  ],
  result: z.object({ subscription: id }),
  reasons: ['not_found', 'websocket_required'],
  access,
})
