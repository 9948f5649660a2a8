/** Calls methods and collects notifications over the WebSocket client of Node.js. */
import { eventNotification, rpcPath } from '@selvedge/protocol'

interface Answer {
  readonly id: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of any method
  readonly result?: any
  // biome-ignore lint/suspicious/noExplicitAny: tests look into errors of any method
  readonly error?: any
}

export interface Notification {
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
  const waiting = new Map<number, (answer: Answer) => void>()
  const notifications: Notification[] = []
  let last = 0
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(data)
    if (message.method === eventNotification) notifications.push(message.params)
    else waiting.get(message.id)?.(message)
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  return {
    call: (method, params) =>
      new Promise((resolve, reject) => {
        const id = ++last
        waiting.set(id, resolve)
        socket.addEventListener('close', () => reject(new Error('the connection was closed')))
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
      }),
    notifications,
    close: () => socket.close(),
  }
}
