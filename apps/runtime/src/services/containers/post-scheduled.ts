/** Calls an OCI container at a time of `MCM.CRON`: a POST to `MCM.CRON_PATH`, with a header that the gateway removes from all other requests. */
import { type IncomingMessage, request } from 'node:http'
import { scheduledHeader } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import type { ScheduledEvent, Upstream } from '../engines/engine.ts'
import { speaksHttp2 } from '../engines/speaks-http2.ts'
import { askHttp2 } from './ask-http2.ts'
import type { Running } from './instances.ts'

/** Bytes of an answer that are read. */
const maxAnswerBytes = 64 * 1024

/**
 * Resolves when the container has answered with a status from 200 to 299.
 *
 * @param timeoutMs after which the request is broken off
 * @throws Error with what was wrong
 */
export async function postScheduled(
  running: Running,
  event: ScheduledEvent,
  timeoutMs: number,
): Promise<void> {
  const { instance, plan } = running
  const { 'MCM.CRON_PATH': path } = plan.settings
  const body = Buffer.from(JSON.stringify({ cron: event.cron, scheduledTime: event.time }))
  const headers = {
    'content-type': 'application/json',
    'content-length': String(body.length),
    'user-agent': 'selvedge-scheduled',
    [scheduledHeader.toLowerCase()]: event.cron,
  }
  const status = speaksHttp2(running)
    ? await overHttp2(instance.upstream, { ...headers, ':path': path }, body, timeoutMs)
    : await overHttp1(instance.upstream, path, headers, body, timeoutMs)
  if (status < 200 || status > 299) throw new Error(`POST ${path} answered ${status}`)
}

async function overHttp2(
  upstream: Upstream,
  fields: Parameters<typeof askHttp2>[1],
  body: Buffer,
  timeoutMs: number,
): Promise<number> {
  const answer = await askHttp2(upstream, fields, body, timeoutMs)
  if (typeof answer === 'string') throw new Error(`POST ${fields[':path']} ${answer}`)
  return answer.status
}

function overHttp1(
  upstream: Upstream,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  timeoutMs: number,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({
      ...upstream,
      method: 'POST',
      path,
      agent: false,
      headers: { host: 'localhost', ...headers },
    })
    const fail = (detail: string) => {
      clearTimeout(limit)
      reject(new Error(`POST ${path} ${detail}`))
      asked.destroy()
    }
    const late = safely('containers.scheduled-late', () => fail(`did not answer within ${timeoutMs} ms`))
    const limit = setTimeout(late, timeoutMs)
    const read = (response: IncomingMessage) => {
      let bytes = 0
      const add = (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > maxAnswerBytes) fail(`answered with more than ${maxAnswerBytes} bytes`)
      }
      const finish = () => {
        clearTimeout(limit)
        resolve(response.statusCode ?? 0)
      }
      response.on('error', (cause) => fail(`did not answer: ${cause.message}`))
      response.on('data', safely('containers.scheduled-data', add))
      response.on('end', safely('containers.scheduled-end', finish))
    }
    const refuse = () => fail('answered with something else than HTTP')
    asked.on('response', safely('containers.scheduled', read, refuse))
    asked.on('error', (cause) => fail(`did not answer: ${cause.message}`))
    // Nothing else reports an answer that is an upgrade.
    asked.on('close', () => fail('did not answer: the connection was closed'))
    asked.end(body)
  })
}
