/** A TCP connection within a time limit. */
import { connect, type NetConnectOpts, type Socket } from 'node:net'

/** @throws Error of the connection, `ETIMEDOUT` after so many milliseconds */
export function openTcp(to: NetConnectOpts, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(to)
    const late = setTimeout(() => {
      socket.destroy()
      reject(noAnswer(timeoutMs))
    }, timeoutMs)
    socket.once('connect', () => {
      clearTimeout(late)
      resolve(socket)
    })
    // Stays: the connection has no other listener until its user adds one.
    socket.on('error', (cause) => {
      clearTimeout(late)
      reject(cause)
    })
  })
}

export const noAnswer = (ms: number): Error =>
  Object.assign(new Error(`no answer within ${ms / 1000} s`), { code: 'ETIMEDOUT' })
