/** A daemon in an overload: what is refused, how, and what is answered all the same. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { methods } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

const agent = new Agent({ keepAlive: true })
let daemon: ChildProcess
let url = ''

beforeAll(async () => {
  const program = fileURLToPath(new URL('blocking-daemon.ts', import.meta.url))
  daemon = spawn(process.execPath, ['--conditions=source', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(daemon.stdout!, 'data')
  url = String(line).trim()
})
afterAll(async () => {
  agent.destroy()
  daemon.kill('SIGKILL')
  await once(daemon, 'exit')
})

function ask(method: string, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const body = method === 'POST' ? '{"some":"body"}' : ''
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const asked = request(url + path, { method, agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
    })
    asked.on('error', reject).end(body)
  })
}

describe('a daemon with more requests than it can answer', () => {
  it('answers vital requests, and refuses a part of the ordinary ones with 503 and Retry-After', async () => {
    const answers: Answer[] = []
    const vital: number[] = []
    let isOver = false
    const refused = () => answers.filter(({ status }) => status === 503)
    const caller = async () => {
      while (!isOver) answers.push(await ask('POST', '/ordinary'))
    }
    const callers = Array.from({ length: 200 }, caller)
    while (refused().length < 100) await new Promise((resolve) => setTimeout(resolve, 10))
    const servedBefore = answers.length - refused().length
    const refusedBefore = refused().length
    while (vital.length < 20) vital.push((await ask('GET', '/vital?x=1')).status)
    while (refused().length < refusedBefore + 50 || answers.length - refused().length < servedBefore + 50)
      await new Promise((resolve) => setTimeout(resolve, 10))
    isOver = true
    await Promise.all(callers)

    expect(vital).toEqual(vital.map(() => 200))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]))
    for (const { headers, text } of refused()) {
      expect(headers['retry-after']).toBe('1')
      expect(headers.connection).toBe('keep-alive')
      expect(JSON.parse(text)).toMatchObject({ error: 'temporarily_unavailable' })
      expect(text).toContain('send it again in 1 s or later')
    }
  })

  it('serves ordinary requests again after it', async () => {
    await expect.poll(async () => (await ask('POST', '/ordinary')).status).toBe(200)
  })
})

it('few methods of the local API are vital', () => {
  const vital = Object.values(methods).filter(({ priority }: { priority?: string }) => priority === 'vital')
  expect(vital.map(({ name }) => name)).toEqual(['getMe', 'unassociateAccount'])
})
