/** The console as its pages call it, with a cookie jar and without a browser. */
import { createRpcClient, type Fetch, type RpcClient } from '@selvedge/client'
import { identityPaths } from '@selvedge/protocol'
import { type ConsoleMethods, consoleMethods } from '@selvedge/protocol/console'

export interface ConsoleSession {
  readonly api: RpcClient<ConsoleMethods>
  /** The Cookie header, as a browser would send it now. */
  cookie(): string
  /** Status and headers of the last answer. */
  last(): { status: number; headers: Headers }
}

/** Somebody at a browser, signed in or not. */
export function openConsole(identityUrl: string, headers: Record<string, string> = {}): ConsoleSession {
  const jar = new Map<string, string>()
  let last: { status: number; headers: Headers }
  const cookie = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const fetchWithCookies: Fetch = async (url, init) => {
    const response = await fetch(url, {
      ...init,
      headers: { ...init.headers, ...headers, ...(jar.size > 0 && { Cookie: cookie() }) },
    })
    for (const each of response.headers.getSetCookie()) {
      const [pair = ''] = each.split(';')
      const [name = '', value = ''] = pair.split('=')
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    last = { status: response.status, headers: response.headers }
    return response
  }
  const connection = { url: identityUrl, path: identityPaths.consoleApi, fetch: fetchWithCookies }
  return { api: createRpcClient(consoleMethods, connection), cookie, last: () => last }
}

const secretOf = (link: string): string => link.slice(link.indexOf('#') + 1)

/** Somebody whom a link lets in. */
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
