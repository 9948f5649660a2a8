import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds for which a connection must stay open: the proxy of some engines takes any, and drops those it can't pass on. */
const settling = 30

const answers = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, host)
    const end = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.on('error', () => end(false))
    socket.on('close', () => end(false))
    socket.on('connect', () => setTimeout(() => end(true), settling))
  })

/** Kept with undefined once something listens, or with why it does not. */
export async function awaitPort(
  host: string,
  port: number,
  seconds: number,
  gone: Promise<string>,
): Promise<string | undefined> {
  let ended: string | undefined
  gone.then((why) => {
    ended = why
  })
  const started = performance.now()
  while (performance.now() - started < seconds * 1000) {
    if (await answers(host, port)) return undefined
    if (ended !== undefined) return ended
    await sleep(10)
  }
  return `it did not listen on its port within ${seconds} s (MCM.PORT, MCM.HEALTH_SEC)`
}
