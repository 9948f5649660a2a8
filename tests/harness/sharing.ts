/** An app, and a device of its account with services for users: its owner, a member, and a person of another account. */
import { identityPaths } from '@selvedge/protocol'
import { type App, createPkce, decide, redeem, requestOf } from './app.ts'
import { type ConsoleSession, enterByLink, projectWith } from './console.ts'
import { adminOf, runtimeOf } from './flow.ts'
import { type OAuthAnswer, type ProofKey, post, postProven } from './oauth.ts'
import { type Services, startServices } from './services.ts'

/** A function that shows how the gateway names its caller. */
export const showCaller = `export default { fetch: (request) => Response.json(Object.fromEntries(
  ['user', 'account', 'client', 'scope'].map((name) => [name, request.headers.get('x-selvedge-' + name)]))) }`

export interface Person {
  readonly console: ConsoleSession
  readonly personId: string
  readonly accountId: string
  readonly email: string
}

export interface Sharing {
  readonly services: Services
  readonly nodeId: string
  readonly app: App
  readonly owner: Person
  /** The owner of another account. */
  readonly guest: Person
  /** A person with an account of one's own. */
  person(email: string): Promise<Person>
  /** Signs a person in to the app for the device. @param more parameters of the request @param key binds the tokens */
  signIn(person: Person, more?: Record<string, string | undefined>, key?: ProofKey): Promise<OAuthAnswer>
  refresh(refreshToken: string, key?: ProofKey): Promise<OAuthAnswer>
  /** Lets a person call a service. @returns the share */
  share(
    service: string,
    who: string,
    milliseconds?: number,
  ): ReturnType<Person['console']['api']['share.add']>
  /** Status of a call of a service, and what it shows. */
  call(service: string, token: string | null, headers?: Record<string, string>): Promise<Called>
  /** Until the device has fetched the list of revoked tokens again. */
  newList(): Promise<void>
  stop(): Promise<void>
}

export interface Called {
  readonly status: number
  readonly reason?: string
  readonly user?: string | null
  readonly account?: string | null
  readonly text: string
}

const minute = 60_000

export async function startSharing(
  options: Parameters<typeof startServices>[0] = {},
  serviceNames: readonly string[] = ['van', 'crane'],
): Promise<Sharing> {
  const args = ['--revocations.interval=1', ...(options.args ?? [])]
  const services = await startServices({ ...options, args })
  const { stack, developer } = services
  const admin = adminOf(stack.state)
  const redirectUri = 'https://app.example/signed-in'
  const app = { clientId: developer.clientId, redirectUri }

  async function enter(email: string): Promise<Person> {
    const { link } = await admin['account.link']({ email })
    const console = await enterByLink(stack.identity.url, link, email)
    const viewer = (await console.api['session.get']()).viewer!
    return { console, email, personId: viewer.personId, accountId: viewer.accountId }
  }
  const person = async (email: string) => {
    await admin['account.create']({ email })
    return enter(email)
  }
  const owner = await enter(developer.email)
  await owner.console.api['project.update'](
    projectWith({
      ...{ clientId: app.clientId, name: 'Vans', appUsers: 'anyone', redirectUris: [redirectUri] },
      scopes: ['openid', 'edge:mcm', 'offline_access'],
    }),
  )
  const guest = await person('guest@example.com')
  for (const name of serviceNames) await services.deploy(name, showCaller, { 'MCM.ACCESS': 'users' })
  const { nodeId } = await services.runtime().getMe()
  // A share is of a service that the device has stated.
  for (let attempt = 0; ; attempt++) {
    const { device } = await owner.console.api['device.get']({ nodeId })
    if (device.services.length >= serviceNames.length) break
    if (attempt > 600) throw new Error('the device did not state its services within thirty seconds')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }

  return {
    services,
    nodeId,
    app,
    owner,
    guest,
    person,
    async signIn({ console }, more = {}, key) {
      const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
      const pkce = createPkce()
      const answer = await decide(console, requestOf(app, pkce, { edge_id_token: edge, ...more }))
      const code = answer.searchParams.get('code') ?? ''
      return redeem(stack.identity.url, app, { code, ...pkce }, {}, key)
    },
    async refresh(refreshToken, key) {
      const form = { grant_type: 'refresh_token', client_id: app.clientId, refresh_token: refreshToken }
      const url = stack.identity.url + identityPaths.token
      return key ? postProven(url, form, key) : post(url, form)
    },
    share: (service, who, milliseconds = 60 * minute) =>
      owner.console.api['share.add']({
        ...{ nodeId, service, with: who },
        until: new Date(Date.now() + milliseconds).toISOString(),
      }),
    async call(service, token, headers = {}) {
      const { status, text } = await services.call(`/${app.clientId}/${service}/`, { token, headers })
      const body = text.startsWith('{') ? JSON.parse(text) : {}
      return { status, text, ...(body.error ? { reason: body.error.reason } : body) }
    },
    async newList() {
      const checkedAt = async () => (await services.runtime().getMe()).revocations.checkedAt
      const seen = new Set([await checkedAt()])
      for (let attempt = 0; attempt < 600; attempt++) {
        seen.add(await checkedAt())
        // The first may have been under way when what has to be in the list happened.
        if (seen.size > 2) return
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      throw new Error('the device did not fetch the list of revoked tokens within thirty seconds')
    },
    stop: () => services.stop(),
  }
}
