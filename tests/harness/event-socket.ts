/** Calls methods and collects notifications over the WebSocket client of Node.js. */
import { eventNotification, rpcPath } from '@selvedge/protocol'

interface Answer {
  readonly id: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of any method
  readonly result?: any
  // biome-ignore lint/suspicious/noExplicitAny: tests look into errors of any method
  readonly error?: any
}

interface Notification {
  readonly subscription: string
  readonly topic?: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data of any topic
  readonly data?: any
  readonly lost?: number
  readonly end?: { readonly reason: string; readonly detail: string }
}

export interface EventSocket {
  call(method: string, params: unknown): Promise<Answer>
  readonly notifications: readonly Notification[]
  close(): void
}

export async function eventSocket(url: string, path: string = rpcPath): Promise<EventSocket> {
  const socket = new WebSocket(url.replace(/^http/, 'ws') + path)
  const waiting = new Map<number, PromiseWithResolvers<Answer>>()
  const notifications: Notification[] = []
  let last = 0
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(data)
    if (message.method === eventNotification) notifications.push(message.params)
    else waiting.get(message.id)?.resolve(message)
  })
  socket.addEventListener('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('the connection was closed'))
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  return {
    call(method, params) {
      const id = ++last
      const answer = Promise.withResolvers<Answer>()
      waiting.set(id, answer)
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
      return answer.promise.finally(() => waiting.delete(id))
    },
    notifications,
    close: () => socket.close(),
  }
}
