/** Which proxy a URL is reached through: from options, and from the environment where they are not set. */
import { NetworkSettingError, shownText } from './network-failure.ts'
import { isLocal, type Matches, readNoProxyEntry } from './no-proxy.ts'

export interface ProxyServer {
  /** Without a user name and password. */
  readonly url: URL
  /** User name and password of the environment, with a colon between them. */
  readonly credentials: string | undefined
}

export interface ProxySettings {
  /** URL of the proxy; `direct`: no proxy, whatever the environment has; empty: the environment decides. */
  readonly proxy: string
  /** Entries as in `NO_PROXY`; empty: the environment decides. */
  readonly noProxy: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Lower case first, as curl does. */
const fromEnv = (env: ProxySettings['env'], name: string): string =>
  env[name.toLowerCase()] || env[name] || ''

/** Characters of a URL of a proxy. */
const maxUrlLength = 2048

/** A text that may be no URL, because its password has a slash or another sign that would have to be encoded. */
function withoutSignIn(text: string): string {
  const end = text.lastIndexOf('@')
  const [scheme = ''] = /^[a-z][a-z\d+.-]*:\/\//i.exec(text) ?? []
  return end < 0 ? text : `${scheme}***${text.slice(end)}`
}

/**
 * @param from names the setting in errors
 * @throws NetworkSettingError
 */
function readProxyUrl(text: string, from: string, maySignIn: boolean): ProxyServer {
  // A host and a port alone are common in the environment.
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`)
  const shown = shownText(withoutSignIn(text))
  if (!url || text.length > maxUrlLength || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new NetworkSettingError(
      `${from} is ${JSON.stringify(shown)}; expected an http or https URL such as http://proxy.example:3128 (socks is not supported)`,
    )
  if (url.pathname.length > 1 || url.search !== '' || url.hash !== '')
    throw new NetworkSettingError(`${from} is ${JSON.stringify(shown)}; expected nothing after the port`)
  const { username, password } = url
  if (username + password !== '' && !maySignIn)
    throw new NetworkSettingError(
      `${from} has a user name or password; put them into the file of network.proxyAuthFile as user:password`,
    )
  try {
    const credentials =
      username === '' ? undefined : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return { url: new URL(url.origin), credentials }
  } catch {
    throw new NetworkSettingError(`${from} has a user name or password that is not percent-encoded`)
  }
}

/**
 * @returns the proxy of a URL; undefined: the URL is reached directly, as this machine and its own link always are
 * @throws NetworkSettingError for a value that cannot be used; entries of `NO_PROXY` that cannot are ignored, as other programs do
 */
export function readProxySettings({
  proxy,
  noProxy,
  env,
}: ProxySettings): (url: URL) => ProxyServer | undefined {
  if (proxy === 'direct') return () => undefined
  const read = (name: string) => {
    const text = fromEnv(env, name)
    return text === '' ? undefined : readProxyUrl(text, `the environment variable ${name}`, true)
  }
  const own = proxy === '' ? undefined : readProxyUrl(proxy, 'network.proxy', false)
  const [plain, secure] = own ? [own, own] : [read('HTTP_PROXY'), read('HTTPS_PROXY')]
  if (!plain && !secure) return () => undefined
  const entries = noProxy.length > 0 ? noProxy : fromEnv(env, 'NO_PROXY').split(/[\s,]+/)
  const exempt = entries.flatMap((each): Matches[] => {
    const matches = readNoProxyEntry(each)
    if (!matches && noProxy.length > 0)
      throw new NetworkSettingError(
        `network.noProxy has ${JSON.stringify(shownText(each))}; expected host names, .suffixes, addresses, or networks such as 10.0.0.0/8`,
      )
    return matches ? [matches] : []
  })
  return (url) => {
    if (isLocal(url) || exempt.some((matches) => matches(url))) return undefined
    return url.protocol === 'https:' || url.protocol === 'wss:' ? secure : plain
  }
}
