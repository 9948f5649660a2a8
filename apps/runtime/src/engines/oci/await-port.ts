import { connect } from 'node:net'
import { awaitWell } from '../await-well.ts'
import type { TcpUpstream } from '../engine.ts'

/** Milliseconds for which a connection must stay open: the proxy of some engines takes any, and drops those it can't pass on. */
const settling = 30
/** Milliseconds for one attempt: of a container that has ended nothing answers, not even with a refusal. */
const attemptMs = 500

const answers = (upstream: TcpUpstream): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(upstream)
    const end = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.setTimeout(attemptMs, () => end(false))
    socket.on('error', () => end(false))
    socket.on('close', () => end(false))
    socket.on('connect', () => setTimeout(() => end(true), settling))
  })

/** Waits until something listens. Gives why nothing does, where the time is over. */
export const awaitPort = (
  upstream: TcpUpstream,
  seconds: number,
  gone: Promise<string>,
): Promise<string | undefined> =>
  awaitWell(
    async () => ((await answers(upstream)) ? undefined : 'it did not listen on its port (MCM.PORT)'),
    {
      seconds,
      pauseMs: 10,
      gone,
    },
  )
