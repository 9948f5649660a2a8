import { type IncomingMessage, request } from 'node:http'
import { safely } from '@selvedge/service-kit/safely'
import type { Ending, Upstream } from '../engines/engine.ts'
import { waitUntilHealthy } from '../engines/wait-until-healthy.ts'

/** Requests the health path of a service. @returns undefined after a 200, else what is wrong */
export function probe(upstream: Upstream, path: string, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = {
      ...upstream,
      path,
      agent: false,
      timeout: timeoutMs,
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
      resolve(`${path} did not answer within ${timeoutMs} ms`)
      asked.destroy()
    })
    asked.on('error', (cause) => resolve(`${path}: ${cause.message}`))
    asked.end()
  })
}

/** Requests the health path until the service is healthy, or the time has passed. @returns what is wrong then */
export const awaitHealth = (
  upstream: Upstream,
  path: string,
  seconds: number,
  gone: Promise<Ending>,
): Promise<string | undefined> =>
  waitUntilHealthy((leftMs) => probe(upstream, path, Math.min(Math.max(leftMs, 500), 5000)), {
    seconds,
    pauseMs: 100,
    gone,
  })
