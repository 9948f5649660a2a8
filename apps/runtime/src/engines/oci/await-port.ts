import { connect } from 'node:net'
import { awaitWell } from '../await-well.ts'

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

/** Waits until something listens. Gives why nothing does, where the time is over. */
export const awaitPort = (
  host: string,
  port: number,
  seconds: number,
  gone: Promise<string>,
): Promise<string | undefined> =>
  awaitWell(
    async () => ((await answers(host, port)) ? undefined : 'it did not listen on its port (MCM.PORT)'),
    {
      seconds,
      pauseMs: 10,
      gone,
    },
  )
