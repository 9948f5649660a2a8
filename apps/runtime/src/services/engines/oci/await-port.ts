import { connect } from 'node:net'
import type { Ending, TcpUpstream } from '../engine.ts'
import { waitUntilHealthy } from '../wait-until-healthy.ts'

/**
 * Milliseconds for which a connection to a published port must stay open: the proxy of some engines accepts any, and drops those it can't
 * pass on. At the address of a container, its program itself accepts.
 */
const settlingMs = 30
/** Milliseconds for one attempt: a container that has exited does not even refuse. */
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
    socket.on('connect', () => {
      if (upstream.localAddress === undefined) setTimeout(() => end(true), settlingMs)
      else end(true)
    })
  })

/** Whether one of them answers; the first that does decides. */
async function anyAnswers(upstreams: readonly TcpUpstream[]): Promise<boolean> {
  const trying = upstreams.map(async (each) => {
    if (!(await answers(each))) throw new Error('it is closed')
    return true
  })
  return Promise.any(trying).catch(() => false)
}

/** Waits until something listens at one of them. Gives why nothing does, where the time is over. @param port of the container, in words */
export const awaitPort = (
  upstreams: readonly TcpUpstream[],
  port: string,
  seconds: number,
  gone: Promise<Ending>,
): Promise<string | undefined> =>
  waitUntilHealthy(
    async () => ((await anyAnswers(upstreams)) ? undefined : `it did not listen on its port ${port}`),
    {
      seconds,
      pauseMs: 10,
      gone,
    },
  )
