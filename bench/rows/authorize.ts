import { identityPaths } from '@selvedge/protocol'
import { type App, createPkce, requestOf } from '../../tests/harness/app.ts'
import { type ConsoleSession, consoleOrigin, enterByLink, projectWith } from '../../tests/harness/console.ts'
import { adminOf } from '../../tests/harness/flow.ts'
import { type Stack, startStack } from '../../tests/harness/processes.ts'
import { costRow, cpuSeconds, type Row, type Server, startPeer } from '../measure.ts'
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
 * A sign-in to an app of a person who is signed in to the provider and approved the app: the page of `/authorize` and its request for
 * the code, and an ID token and an access token for it.
 */
export async function authorizeRows(): Promise<Row[]> {
  const stack = await startStack({ identity: unlimited })
  const peer = await startPeer('oidc-provider-code.ts', [
    '',
    JSON.stringify({ clientId: 'app', redirectUri }),
  ])
  try {
    const contestants = [await ours(stack), await theirs(peer)]
    const figures: number[][] = [[], []]
    for (const each of contestants) await measure(each)
    for (let round = 0; round < rounds; round++)
      for (const [at, each] of contestants.entries()) figures[at]!.push(await measure(each))
    const [own, other] = figures as [number[], number[]]
    process.stderr.write(`authorize: ours ${show(own)}, oidc-provider ${show(other)}\n`)
    const name = '/authorize, code and tokens'
    return [costRow({ name, unit: 'CPU µs', against: 'oidc-provider' }, { ours: own, peer: other }, 0.6)]
  } finally {
    await peer.stop()
    await stack.stop()
  }
}

const show = (all: readonly number[]) => `${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)} µs`

/** @returns CPU microseconds of the server for one sign-in */
async function measure({ process: { pid }, signIn }: Contestant): Promise<number> {
  const before = cpuSeconds(pid!)
  let left = perRound
  const work = async () => {
    while (left-- > 0) await signIn()
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return ((cpuSeconds(pid!) - before) / perRound) * 1e6
}

/** @param base URL of the token endpoint @returns when there are both tokens */
async function redeem(url: string, form: Record<string, string>): Promise<void> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form) })
  const answer = (await response.json()) as Record<string, string>
  if (answer.access_token?.split('.').length !== 3 || answer.id_token === undefined)
    throw new Error(`${url} answered HTTP ${response.status}: ${JSON.stringify(answer)}`)
}

/** For proofs, the same for all people. */
let nonce = ''

/** A person who is signed in and approved the app. @returns a function that gets a code as the page does */
async function openPerson(
  url: string,
  app: App,
  session: ConsoleSession,
): Promise<(query: string) => Promise<string>> {
  const first = requestOf(app, createPkce(), { scope: 'openid' })
  const step = await session.api['authorization.begin']({ query: first, ticket: null })
  if (step.step !== 'consent') throw new Error(`the step is ${step.step}`)
  await session.api['authorization.decide']({ query: first, ticket: step.ticket, approve: true })
  const htu = consoleOrigin(url) + identityPaths.consoleApi
  return async (query) => {
    const params = { query, ticket: null }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'authorization.begin', params })
    for (;;) {
      // As the page has it: of the last answer of the service.
      const used = nonce
      const proof = session.key.prove({ htm: 'POST', htu, body, ...(used !== '' && { nonce: used }) })
      const headers = { 'content-type': 'application/json', Cookie: session.cookie(), DPoP: proof }
      const response = await fetch(url + identityPaths.consoleApi, { method: 'POST', headers, body })
      const next = response.headers.get('dpop-nonce') ?? used
      const { result } = (await response.json()) as { result?: { step: string; to: string } }
      if (result?.step === 'return') return new URL(result.to).searchParams.get('code')!
      if (next === used) throw new Error(`the console answered HTTP ${response.status}`)
      nonce = next
    }
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
      const page = await fetch(`${url}${identityPaths.authorize}?${query}`, {
        headers: { Accept: 'text/html' },
      })
      await page.arrayBuffer()
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
