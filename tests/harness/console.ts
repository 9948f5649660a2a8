/** The console as its pages call it, with a cookie jar and a key that signs every request, and without a browser. */
import { createRpcClient, type Fetch, type RpcClient } from '@selvedge/client'
import { identityPaths } from '@selvedge/protocol'
import { type ConsoleMethods, consoleMethods } from '@selvedge/protocol/console'
import { createProofKey, type ProofKey } from './oauth.ts'
import { freePorts, startProgram, temporaryFolder } from './processes.ts'
import { createProgramClock } from './program-clock.ts'

export interface ConsoleSession {
  readonly api: RpcClient<ConsoleMethods>
  /** The key of the browser. */
  readonly key: ProofKey
  /** The Cookie header, as a browser would send it now. */
  cookie(): string
  /** Headers of one signed request, for a test that sends it by itself. */
  signed(method: string, path: string, body?: string): Promise<{ Cookie: string; DPoP: string }>
  /** A signed GET. */
  get(path: string): Promise<Response>
  /** Status and headers of the last answer. */
  last(): { status: number; headers: Headers }
}

/** The URL of the console for a browser: with a host name, since passkeys need one. */
export const consoleOrigin = (identityUrl: string): string => identityUrl.replace('127.0.0.1', 'localhost')

/** A person at a browser, signed in or not. */
export function openConsole(
  identityUrl: string,
  headers: Record<string, string> = {},
  key = createProofKey(),
): ConsoleSession {
  const jar = new Map<string, string>()
  let last: { status: number; headers: Headers }
  const cookie = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const take = (response: Response) => {
    for (const each of response.headers.getSetCookie()) {
      const [pair = ''] = each.split(';')
      const [name = '', value = ''] = pair.split('=')
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    last = { status: response.status, headers: response.headers }
    return response
  }
  const signed = async (htm: string, path: string, body?: string) => {
    const { headers } = await fetch(identityUrl + identityPaths.consoleNonce, { redirect: 'error' })
    const nonce = headers.get('dpop-nonce') ?? undefined
    const htu = consoleOrigin(identityUrl) + path
    return { Cookie: cookie(), DPoP: key.prove({ htm, htu, nonce, ...(body !== undefined && { body }) }) }
  }
  const fetchSigned: Fetch = async (url, init) => {
    const proof = await signed(init.method, new URL(url).pathname, init.body)
    return take(await fetch(url, { ...init, headers: { ...init.headers, ...proof, ...headers } }))
  }
  const connection = { url: identityUrl, path: identityPaths.consoleApi, fetch: fetchSigned }
  return {
    api: createRpcClient(consoleMethods, connection),
    key,
    cookie,
    signed,
    get: async (path) =>
      take(
        await fetch(identityUrl + path, {
          // The query is not signed (RFC 9449 § 4.2).
          headers: { ...(await signed('GET', path.split('?')[0]!)), ...headers },
          redirect: 'error',
        }),
      ),
    last: () => last,
  }
}

const secretOf = (link: string): string => link.slice(link.indexOf('#') + 1)

/** A person who signs in with a link. */
export async function enterByLink(identityUrl: string, link: string, email: string): Promise<ConsoleSession> {
  const session = openConsole(identityUrl)
  await session.api['link.use']({ link: secretOf(link), email })
  return session
}

/** A project as the page makes it. */
const usualProject = {
  name: 'A project',
  scopes: [
    'openid',
    'edge:mcm',
    'edge:account:associate',
    'edge:account:unassociate',
    'offline_access',
  ] as const,
  resources: [],
  accessLifetime: 3600,
  developerLifetime: 86_400,
  dpop: 'optional' as const,
}
export const projectWith = (more: object) => ({ ...usualProject, ...more }) as never

/** How a call ends: `accepted`, or the reason of its refusal. */
export const reasonOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    ({ reason }) => reason as string,
  )

/** Starts an identity service by itself, with its first owner. @param options of its command line */
export async function startWithOwner(...options: readonly string[]) {
  const folder = await temporaryFolder()
  const clock = await createProgramClock()
  const env = { SELVEDGE_STATE: folder.path, ...freePorts, ...clock.env }
  const identity = await startProgram('identity', env, options)
  const owner = await enterByLink(identity.url, identity.ready.setup!, 'ada@example.com')
  return {
    identity,
    owner,
    /** Of the service. */
    clock,
    /** Its state folder. */
    state: folder.path,
    async stop() {
      await identity.stop()
      await folder.remove()
      await clock.remove()
    },
  }
}
