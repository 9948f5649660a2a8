/** People and their tokens: what lasts, what replicas bring, what a sign-in and a poll cost, how soon the console shows. */
import type { ChildProcess } from 'node:child_process'
import { argon2, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { launchBrowser } from '../../tests/harness/browser.ts'
import { enterByLink, openConsole } from '../../tests/harness/console.ts'
import { createDeveloper, type Developer, runtimeOf } from '../../tests/harness/flow.ts'
import { has } from '../../tests/harness/installed.ts'
import { type Program, type Stack, startProgram, startStack } from '../../tests/harness/processes.ts'
import { type Replicas, startReplicas } from '../../tests/harness/replicas.ts'
import { cpuSeconds, median, type Row, roundSeconds, rounds, runLoad } from '../measure.ts'
import { unlimited } from './unlimited.ts'

const scopes = ['openid', 'edge:mcm', 'offline_access']

/** A figure beside another one, without a limit. */
const reported = (name: string, unit: string, against: string, ours: number, peer: number): Row => ({
  name,
  unit,
  against,
  ours,
  peer,
  ratio: ours / peer,
  reach: 'reported',
  reached: null,
})

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** A form to an endpoint over kept connections. @returns the answer as JSON, whatever its status */
function post(url: string, form: Record<string, string>): Promise<Record<string, string>> {
  const body = new URLSearchParams(form).toString()
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    'Content-Length': Buffer.byteLength(body),
  }
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve(text === '' ? {} : JSON.parse(text)))
    })
    asked.on('error', reject).end(body)
  })
}

/** How often a second `lanes` do their work, each one after the other, best of the rounds. */
async function perSecond(lanes: readonly (() => Promise<void>)[]): Promise<number> {
  let best = 0
  for (let round = 0; round < rounds; round++) {
    const end = performance.now() + roundSeconds * 1000
    let count = 0
    await Promise.all(
      lanes.map(async (work) => {
        while (performance.now() < end) {
          await work()
          count++
        }
      }),
    )
    best = Math.max(best, count / roundSeconds)
  }
  return best
}

async function exchangeForm(runtime: Pick<Program, 'url'>, { clientId, idToken }: Developer, scope: string) {
  return {
    grant_type: 'id_token_signin',
    client_id: clientId,
    id_token: idToken,
    edge_id_token: (await runtimeOf({ runtime }).getEdgeIdToken()).id_token,
    scope,
  }
}

/** Refreshes a second of 32 sign-ins at once. */
async function refreshRate(url: string, form: Record<string, string>): Promise<number> {
  const lanes = await Promise.all(
    Array.from({ length: 32 }, async () => {
      let token = (await post(`${url}/token`, form)).refresh_token!
      return async () => {
        const answer = await post(`${url}/token`, {
          grant_type: 'refresh_token',
          client_id: form.client_id!,
          refresh_token: token,
        })
        if (!answer.refresh_token) throw new Error(`a refresh failed: ${JSON.stringify(answer)}`)
        token = answer.refresh_token
      }
    }),
  )
  return perSecond(lanes)
}

async function lastingRows(stack: Stack): Promise<Row[]> {
  const developer = await createDeveloper(stack.state, { scopes })
  const form = await exchangeForm(stack.runtime, developer, scopes.join(' '))
  const sqlite = await refreshRate(stack.identity.url, form)
  if (!has('postgres')) return [reported('refresh', 'per second', 'itself', sqlite, sqlite)]

  const replicas: Replicas = await startReplicas(unlimited)
  const state = mkdtempSync(join(tmpdir(), 'bench-'))
  const runtime = await startProgram('runtime', {
    SELVEDGE_STATE: state,
    SELVEDGE_RUNTIME_PORT: '0',
    SELVEDGE_IDENTITY_URL: replicas.url,
  })
  try {
    const own = await createDeveloper(replicas.all[0].state, { scopes })
    const postgres = await refreshRate(
      replicas.all[0].url,
      await exchangeForm(runtime, own, scopes.join(' ')),
    )
    const bodies = join(state, 'bodies')
    writeFileSync(bodies, new URLSearchParams(await exchangeForm(runtime, own, 'openid edge:mcm')).toString())
    const mint = async (replica: Program) =>
      (
        await runLoad({
          path: '/token',
          type: 'application/x-www-form-urlencoded',
          bodies,
          connections: 16,
          seconds: roundSeconds,
          target: { host: '127.0.0.1', port: Number(new URL(replica.url).port) },
        })
      ).answers / roundSeconds
    const [one, two] = [[], []] as [number[], number[]]
    for (let round = 0; round < rounds; round++) {
      one.push(await mint(replicas.all[0]))
      two.push((await Promise.all(replicas.all.map(mint))).reduce((sum, each) => sum + each))
    }
    return [
      reported('refresh, SQLite', 'per second', 'PostgreSQL, one process', sqlite, postgres),
      reported(
        'id_token_signin on PostgreSQL, two processes',
        'tokens per second',
        'one process; the load takes its share of the two cores',
        Math.max(...two),
        Math.max(...one),
      ),
    ]
  } finally {
    await runtime.stop()
    await replicas.stop()
    rmSync(state, { recursive: true, force: true })
  }
}

/** Sign-ins by password against the derivations that they can't do without. */
async function signInRow(stack: Stack): Promise<Row> {
  const email = 'bench@example.com'
  const password = 'three quiet herons at dusk'
  const owner = await enterByLink(stack.identity.url, stack.identity.ready.setup!, email)
  await owner.api['password.set']({ password })
  const lanes = Array.from({ length: 4 }, () => async () => {
    await openConsole(stack.identity.url).api['sign_in.password']({ email, password })
  })
  const derive = promisify(argon2)
  const nonce = randomBytes(16)
  const derivations = Array.from({ length: 2 }, () => async () => {
    await derive('argon2id', {
      message: password,
      nonce,
      memory: 19_456,
      passes: 2,
      parallelism: 1,
      tagLength: 32,
    })
  })
  const against = 'argon2id alone, two at a time'
  return reported(
    'sign-ins by password',
    'per second',
    against,
    await perSecond(lanes),
    await perSecond(derivations),
  )
}

/** What a terminal that waits costs the service. */
async function pollRow(stack: Stack): Promise<Row> {
  const { url, process: service } = stack.identity
  const begun = await post(`${url}/device_authorization`, { client_id: 'selvedge-cli', scope: 'openid' })
  const poll = () =>
    post(`${url}/token`, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'selvedge-cli',
      device_code: begun.device_code!,
    }).then(() => undefined)
  const health = () => post(`${url}/revoke`, { token: 'x' }).then(() => undefined)
  const cost = async (child: ChildProcess, work: () => Promise<void>) => {
    const costs: number[] = []
    for (let round = 0; round < rounds; round++) {
      const before = cpuSeconds(child.pid!)
      let count = 0
      const end = performance.now() + roundSeconds * 1000
      await Promise.all(
        Array.from({ length: 16 }, async () => {
          for (; performance.now() < end; count++) await work()
        }),
      )
      costs.push(((cpuSeconds(child.pid!) - before) * 1e6) / count)
    }
    return Math.min(...costs)
  }
  const against = 'a request that finds nothing (POST /revoke with no token of ours)'
  return reported(
    'poll of a device code',
    'CPU µs',
    against,
    await cost(service, poll),
    await cost(service, health),
  )
}

/** From nothing to the first thing to read, against a page of one line. */
async function paintRow(stack: Stack): Promise<Row | undefined> {
  if (!has('chromium-headless-shell')) return undefined
  const bare = createServer((_, response) => {
    response
      .writeHead(200, { 'Content-Type': 'text/html' })
      .end('<!doctype html><title>x</title><h1>Sign in</h1>')
  })
  await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve))
  const urls = [
    `${stack.identity.url.replace('127.0.0.1', 'localhost')}/sign-in`,
    `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`,
  ]
  const browser = await launchBrowser()
  const times: number[][] = urls.map(() => [])
  for (let round = 0; round < rounds + 1; round++) {
    for (const [at, url] of urls.entries()) {
      const context = await browser.newContext()
      const page = await context.newPage()
      await page.goto(url)
      await page.getByRole('heading').first().waitFor()
      const paint = await page.evaluate(
        () =>
          new Promise<number>((resolve) => {
            // The largest thing painted so far, once nothing more comes: what a person came for.
            const observer = new PerformanceObserver((list) => resolve(list.getEntries().at(-1)!.startTime))
            observer.observe({ type: 'largest-contentful-paint', buffered: true })
          }),
      )
      // The first round warms the browser up.
      if (round > 0) times[at]!.push(paint)
      await context.close()
    }
  }
  await browser.close()
  bare.close()
  const [ours, peer] = times.map(median) as [number, number]
  return reported(
    'console, sign-in page: largest contentful paint',
    'ms',
    'a page of one heading',
    ours,
    peer,
  )
}

export async function peopleRows(): Promise<Row[]> {
  const stack = await startStack({ identity: unlimited })
  try {
    const rows = [
      await pollRow(stack),
      await signInRow(stack),
      await paintRow(stack),
      ...(await lastingRows(stack)),
    ]
    return rows.filter((row) => row !== undefined)
  } finally {
    agent.destroy()
    await stack.stop()
  }
}
