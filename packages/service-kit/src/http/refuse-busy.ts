/** The answer to an ordinary request in an overload, made as cheaply as an answer can be: twice the load must not drown in it. */
import type { ServerResponse } from 'node:http'
import { safely } from '../safely/safely.ts'
import { type LoadShedder, retryAfterSeconds } from './load-shedder.ts'

/**
 * Makes a function that answers 503 with `Retry-After`. The connection stays open: opening it again would cost more than the
 * request. A small body has arrived by the time that the answers of one turn go out together, and is dropped.
 *
 * @param shedder learns of each refusal
 * @param body of the answer, an object that becomes JSON
 */
export function createRefuseBusy(shedder: LoadShedder, body: object): (response: ServerResponse) => void {
  const text = JSON.stringify(body)
  const headers = [
    ['Content-Type', 'application/json'],
    ['Content-Length', String(Buffer.byteLength(text))],
    ['Cache-Control', 'no-store'],
    ['X-Content-Type-Options', 'nosniff'],
    ['Retry-After', String(retryAfterSeconds)],
  ].flat()
  let waiting: ServerResponse[] = []

  const answer = safely(
    'http.refuse-busy',
    (response: ServerResponse) => {
      const { socket } = response
      if (response.destroyed || !socket) return
      response.writeHead(503, headers).end(text)
      shedder.wasRefused(socket)
    },
    (_cause, response) => response.destroy(),
  )
  const answerAll = () => {
    const refused = waiting
    waiting = []
    for (const response of refused) answer(response)
  }
  return (response) => {
    if (waiting.push(response) === 1) setImmediate(safely('http.refuse-busy', answerAll))
  }
}
