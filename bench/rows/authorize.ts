import { join } from 'node:path'
import { identityPaths } from '@selvedge/protocol'
import { type App, createPkce, requestOf } from '../../tests/harness/app.ts'
import { type ConsoleSession, consoleOrigin, enterByLink, projectWith } from '../../tests/harness/console.ts'
import { adminOf } from '../../tests/harness/flow.ts'
import { type Stack, startStack } from '../../tests/harness/processes.ts'
import { cpuOf } from '../cpu.ts'
import { costRow, median, type Row, type Server, startPeer } from '../measure.ts'
import { unlimited } from './unlimited.ts'

const redirectUri = 'https://app.example/signed-in'
const rounds = Number(process.env.SELVEDGE_BENCH_ROUNDS ?? 7)
/** Sign-ins at the same time, and in a round. */
const [concurrency, perRound] = [8, 300]
/** One person gets 50 codes a minute. */
const people = Math.ceil(((rounds + 1) * perRound) / 45)

/** A server, and one whole sign-in at it. */
interface Contestant {
  readonly process: Server['process']
  signIn(): Promise<void>
}

/**
 * A sign-in to an app of a person who is signed in to the provider and approved the app: every request that the browser sends to the
 * provider, and an ID token and an access token for the code. The peer is measured with SQLite, as durable as ours, and in memory.
 */
export async function authorizeRows(): Promise<Row[]> {
  const stack = await startStack({ identity: unlimited })
  const database = join(stack.state, 'peer.db')
  const peers = [await startOther({ database }), await startOther({})]
  try {
    const contestants = [await ours(stack), ...(await Promise.all(peers.map(theirs)))]
    const figures: number[][] = contestants.map(() => [])
    for (const each of contestants) await measure(each)
    for (let round = 0; round < rounds; round++)
      for (const [at, each] of contestants.entries()) figures[at]!.push(await measure(each))
    const [own, ...others] = figures as [number[], number[], number[]]
    const names = ['oidc-provider with SQLite', 'oidc-provider in memory'] as const
    for (const [at, name] of ['ours', ...names].entries())
      process.stderr.write(`authorize: ${name} ${show(figures[at]!)}\n`)
    const row = { name: '/authorize, code and tokens', unit: 'CPU µs' }
    return names.map((against, at) => costRow({ ...row, against }, { ours: own, peer: others[at]! }, 0.6))
  } finally {
    for (const each of peers) await each.stop()
    await stack.stop()
  }
}

const startOther = (more: { readonly database?: string }): Promise<Server> =>
  startPeer('oidc-provider-code.ts', ['', JSON.stringify({ clientId: 'app', redirectUri, ...more })])

const show = (all: readonly number[]) =>
  `${median(all).toFixed(0)} µs (${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)})`

/** @returns CPU microseconds of the server for one sign-in */
async function measure({ process: { pid }, signIn }: Contestant): Promise<number> {
  const before = cpuOf(pid!).own
  let left = perRound
  const work = async () => {
    while (left-- > 0) await signIn()
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return (cpuOf(pid!).own - before) / perRound
}

/** @param base URL of the token endpoint @returns when there are both tokens */
async function redeem(url: string, form: Record<string, string>): Promise<void> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form) })
  const answer = (await response.json()) as Record<string, string>
  if (answer.access_token?.split('.').length !== 3 || answer.id_token === undefined)
    throw new Error(`${url} answered HTTP ${response.status}: ${JSON.stringify(answer)}`)
}

/** A person who is signed in and approved the app. @returns the browser of the person: it opens a page and gets a code */
async function openPerson(
  url: string,
  app: App,
  session: ConsoleSession,
): Promise<(query: string) => Promise<string>> {
  const first = requestOf(app, createPkce(), { scope: 'openid' })
  const step = await session.api['authorization.begin']({ query: first, ticket: null })
  if (step.step !== 'consent') throw new Error(`the step is ${step.step}`)
  await session.api['authorization.decide']({ query: first, ticket: step.ticket, approve: true })
  const own = { 'content-type': 'application/json', Cookie: session.cookie() }
  const signed = { htm: 'POST', htu: consoleOrigin(url) + identityPaths.consoleApi }
  return async (query) => {
    const host = consoleOrigin(url)
    const page = await fetch(`${host}${identityPaths.authorize}?${query}`, {
      headers: { Accept: 'text/html' },
    })
    await page.arrayBuffer()
    const [, nonce] = /nonce;desc="([^"]+)"/.exec(page.headers.get('server-timing') ?? '') ?? []
    const params = { query, ticket: null }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'authorization.begin', params })
    const headers = { ...own, DPoP: session.key.prove({ ...signed, body, nonce }) }
    const response = await fetch(host + identityPaths.consoleApi, { method: 'POST', headers, body })
    const { result } = (await response.json()) as { result?: { step?: string; to: string } }
    if (result?.step !== 'return') throw new Error(`the answer is ${JSON.stringify(result)}`)
    return new URL(result.to).searchParams.get('code')!
  }
}

async function ours({ identity, state }: Stack): Promise<Contestant> {
  const { url } = identity
  const owner = await enterByLink(url, identity.ready.setup!, 'ada@example.com')
  const project = projectWith({ redirectUris: [redirectUri], appUsers: 'anyone' })
  const app = { clientId: (await owner.api['project.create'](project)).clientId, redirectUri }
  const codes: ((query: string) => Promise<string>)[] = []
  for (let at = 0; at < people; at++) {
    const email = `person${at}@example.com`
    await adminOf(state)['account.create']({ email })
    const { link } = await adminOf(state)['account.link']({ email })
    codes.push(await openPerson(url, app, await enterByLink(url, link, email)))
  }
  let turn = 0
  return {
    process: identity.process,
    async signIn() {
      const pkce = createPkce()
      const query = requestOf(app, pkce, { scope: 'openid' })
      const code = await codes[turn++ % people]!(query)
      const form = { client_id: app.clientId, redirect_uri: redirectUri, code, code_verifier: pkce.verifier }
      await redeem(url + identityPaths.token, { grant_type: 'authorization_code', ...form })
    },
  }
}

async function theirs(peer: Server): Promise<Contestant> {
  const { host, port } = peer.target as { host: string; port: number }
  const url = `http://${host}:${port}`
  const app = { clientId: 'app', redirectUri }
  const cookies = new Map<string, string>()
  async function follow(from: string): Promise<URL> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(from, { redirect: 'manual', headers: { cookie } })
    await response.arrayBuffer()
    for (const each of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`${from} answered HTTP ${response.status}`)
    const next = new URL(location, url)
    // It names itself by its issuer.
    return next.href.startsWith(redirectUri) ? next : follow(url + next.pathname + next.search)
  }
  async function signIn() {
    const pkce = createPkce()
    const answer = await follow(`${url}/auth?${requestOf(app, pkce, { scope: 'openid' })}`)
    const code = answer.searchParams.get('code')
    if (code === null) throw new Error(`the peer answered ${answer.search}`)
    const form = { client_id: 'app', redirect_uri: redirectUri, code, code_verifier: pkce.verifier }
    await redeem(`${url}/token`, { grant_type: 'authorization_code', ...form })
  }
  // The first one opens the session.
  await signIn()
  return { process: peer.process, signIn }
}
