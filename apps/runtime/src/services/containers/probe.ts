import { type IncomingMessage, request } from 'node:http'
import { safely } from '@selvedge/service-kit/safely'
import type { Ending, Instance, Upstream } from '../engines/engine.ts'
import { waitUntilHealthy } from '../engines/wait-until-healthy.ts'
import { askHttp2 } from './ask-http2.ts'

/** Requests a path of a service. @returns undefined after a good status (200), else what is wrong */
export type Probe = (
  upstream: Upstream,
  path: string,
  timeoutMs: number,
  isGood?: (status: number) => boolean,
) => Promise<string | undefined>

const isOk = (status: number): boolean => status === 200

/** @param isHttp2 whether the service speaks HTTP/2 without TLS */
export const probeOf = (isHttp2: boolean): Probe => (isHttp2 ? probeHttp2 : probe)

const probeHttp2: Probe = async (upstream, path, timeoutMs, isGood = isOk) => {
  const answer = await askHttp2(upstream, { ':path': path }, undefined, timeoutMs)
  if (typeof answer === 'string') return `${path} ${answer}`
  return isGood(answer.status) ? undefined : `${path} answered ${answer.status}`
}

function probe(
  upstream: Upstream,
  path: string,
  timeoutMs: number,
  isGood: (status: number) => boolean = isOk,
): Promise<string | undefined> {
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
      resolve(isGood(response.statusCode ?? 500) ? undefined : `${path} answered ${response.statusCode}`)
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

/** Milliseconds for one request. */
export const probeMs = 5000

/** Requests the health path until the service is healthy, or the time has passed. @returns what is wrong then */
export const awaitHealth = (
  probe: Probe,
  upstream: Upstream,
  path: string,
  seconds: number,
  gone: Promise<Ending>,
): Promise<string | undefined> =>
  waitUntilHealthy(() => probe(upstream, path, probeMs), {
    seconds,
    pauseMs: 100,
    gone,
  })

/** Requests `/` until the service answers HTTP with a status below 500, or the time has passed. @returns what is wrong then */
export const awaitHttp = (
  probe: Probe,
  upstream: Upstream,
  seconds: number,
  gone: Promise<Ending>,
): Promise<string | undefined> =>
  waitUntilHealthy(() => probe(upstream, '/', probeMs, (status) => status < 500), {
    seconds,
    pauseMs: 100,
    gone,
  })

/** Milliseconds that a command has to check the health. */
export const commandMs = 30_000

/** Runs the command that checks the health until it succeeds, or the time has passed. @returns what is wrong then */
export const awaitCommand = async (
  { checkHealth }: Pick<Instance, 'checkHealth'>,
  seconds: number,
  gone: Promise<Ending>,
): Promise<string | undefined> =>
  checkHealth &&
  waitUntilHealthy((leftMs) => checkHealth(Math.min(leftMs, commandMs)), {
    seconds,
    pauseMs: 500,
    gone,
  })
