/** `subscribe` and `unsubscribe`: events as notifications on a WebSocket. */
import { eventNotification, methods, RpcError, type StreamEnd, type TopicName } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import type { CallContext, RpcConnection } from '@selvedge/service-kit/http'
import { safely } from '@selvedge/service-kit/safely'
import type { Callers } from '../../device/tokens/callers.ts'
import type { EventHub, EventSink } from './hub.ts'

/** Bytes that may wait for a client before it gets more events. */
const maxUnsentBytes = 32 * 1024

export interface Subscriptions {
  /** @throws RpcError `websocket_required`, and what the hub throws */
  subscribe(
    params: { readonly edgeAccessToken: string; readonly topics: readonly TopicName[] },
    owner: AccessClaims,
    context: CallContext,
  ): { subscription: string }
  /** @throws RpcError `websocket_required`, `not_found` */
  unsubscribe(subscription: string, context: CallContext): { subscription: string }
}

/** The subscriptions of one connection: what ends each, by ID. */
interface Own {
  readonly ends: Map<string, () => void>
  last: number
}

const { access, name } = methods.subscribe

export function createSubscriptions(
  hub: EventHub,
  { authorize, expectStillValid, lasting }: Pick<Callers, 'authorize' | 'expectStillValid' | 'lasting'>,
): Subscriptions {
  const all = new WeakMap<RpcConnection, Own>()

  function ownOf(connection: RpcConnection): Own {
    const own = all.get(connection) ?? { ends: new Map(), last: 0 }
    all.set(connection, own)
    return own
  }

  return {
    subscribe({ edgeAccessToken, topics }, owner, context) {
      const connection = connectionOf(context)
      const own = ownOf(connection)
      const subscription = String(++own.last)
      const stop = () => own.ends.get(subscription)?.()
      const stream = hub.open(owner, topics, sinkTo(connection, subscription, stop))
      const unwatch = lasting.watch({
        expectAllowed: () => expectStillValid(owner, access),
        verifyAgain: () => authorize(edgeAccessToken, access, context, name),
        end: stream.end,
      })
      const forget = connection.onEnd(stop)
      own.ends.set(subscription, () => {
        own.ends.delete(subscription)
        unwatch()
        forget()
        stream.close()
      })
      // After the answer, which has the ID.
      setImmediate(safely('events.begin', stream.flush))
      return { subscription }
    },
    unsubscribe(subscription, context) {
      const end = ownOf(connectionOf(context)).ends.get(subscription)
      if (!end)
        throw new RpcError('not_found', `this connection has no subscription ${JSON.stringify(subscription)}`)
      end()
      return { subscription }
    },
  }
}

/** @throws RpcError `websocket_required` */
function connectionOf({ connection }: CallContext): RpcConnection {
  if (connection) return connection
  throw new RpcError(
    'websocket_required',
    'subscriptions need a WebSocket; this call came in an HTTP request',
  )
}

/** @param stop called before the last message */
function sinkTo(connection: RpcConnection, subscription: string, stop: () => void): EventSink {
  const start = `{"jsonrpc":"2.0","method":"${eventNotification}","params":{"subscription":${JSON.stringify(subscription)},`
  return {
    isReady: () => connection.unsentBytes < maxUnsentBytes,
    send: ({ topic, data }, lost) =>
      connection.send(`${start}"topic":"${topic}","data":${data}${lost > 0 ? `,"lost":${lost}` : ''}}}`),
    end(reason: StreamEnd) {
      stop()
      connection.send(`${start}"end":${JSON.stringify(reason)}}}`)
    },
  }
}
