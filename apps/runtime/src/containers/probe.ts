import { type IncomingMessage, request } from 'node:http'
import { safely } from '@selvedge/service-kit/safely'
import { awaitWell } from '../engines/await-well.ts'
import type { Upstream } from '../engines/engine.ts'

/** Asks a service for its health path. Gives undefined where it answers 200, else what it did instead. */
export function probe(upstream: Upstream, path: string, patienceMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = {
      ...upstream,
      path,
      agent: false,
      timeout: patienceMs,
      headers: { Host: 'localhost', 'User-Agent': 'selvedge-health' },
    }
    const asked = request(options)
    const read = (response: IncomingMessage) => {
      response.on('error', () => undefined)
      response.resume()
      resolve(response.statusCode === 200 ? undefined : `${path} answered ${response.statusCode}`)
      asked.destroy()
    }
    const refuse = () => {
      resolve(`${path} answered with something else than HTTP`)
      asked.destroy()
    }
    asked.on('response', safely('containers.probe', read, refuse))
    asked.on('timeout', () => {
      resolve(`${path} did not answer within ${patienceMs} ms`)
      asked.destroy()
    })
    asked.on('error', (cause) => resolve(`${path}: ${cause.message}`))
    asked.end()
  })
}

/** Asks until it is well, or the time is over. Gives what is wrong then. */
export const awaitHealth = (
  upstream: Upstream,
  path: string,
  seconds: number,
  gone: Promise<string>,
): Promise<string | undefined> =>
  awaitWell((leftMs) => probe(upstream, path, Math.min(Math.max(leftMs, 500), 5000)), {
    seconds,
    pauseMs: 100,
    gone,
  })
