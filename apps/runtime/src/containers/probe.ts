import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
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
    const asked = request(options, (response) => {
      response.resume()
      response.on('error', () => undefined)
      resolve(response.statusCode === 200 ? undefined : `${path} answered ${response.statusCode}`)
      asked.destroy()
    })
    asked.on('timeout', () => {
      resolve(`${path} did not answer within ${patienceMs} ms`)
      asked.destroy()
    })
    asked.on('error', (cause) => resolve(`${path}: ${cause.message}`))
    asked.end()
  })
}

/** Asks until it is well, or the time is over. */
export async function awaitHealth(
  upstream: Upstream,
  path: string,
  seconds: number,
  gone: Promise<string>,
): Promise<string | undefined> {
  let ended: string | undefined
  gone.then((why) => {
    ended = why
  })
  const started = performance.now()
  for (;;) {
    const left = seconds * 1000 - (performance.now() - started)
    const problem = await probe(upstream, path, Math.min(Math.max(left, 500), 5000))
    if (problem === undefined) return undefined
    if (ended !== undefined) return ended
    if (left <= 0) return `${problem} for ${seconds} s (MCM.HEALTH_SEC)`
    await sleep(Math.min(100, left))
  }
}
