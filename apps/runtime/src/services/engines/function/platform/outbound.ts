import { redirectedHeader, runtimeHost, targetHeader } from '../control.ts'

const maxRedirects = 10

/** Headers that are meant for one origin, and are not sent on to another one (Fetch standard, HTTP-redirect fetch). */
const credentials = ['authorization', 'cookie', 'proxy-authorization']

/**
 * The `fetch` with which this program calls the runtime itself: only a request that names no URL of its own reaches the paths of
 * `hostPaths`. The function does not get it.
 *
 * @param client of Deno, with the socket as its proxy
 */
export function createRuntimeFetch(client: unknown): typeof globalThis.fetch {
  const platformFetch = globalThis.fetch
  return (path, init) => platformFetch(`http://${runtimeHost}${path}`, { ...init, client } as RequestInit)
}

/**
 * The `fetch` of functions. This program has no network: a request is sent to the runtime over the instance's own socket, which
 * lets it through to the hosts that `MCM.OUTBOUND` lists and to the services of this device.
 *
 * @param client of Deno, with the socket as its proxy
 */
export function createFetch(client: unknown): typeof globalThis.fetch {
  const platformFetch = globalThis.fetch

  async function send(
    target: URL,
    request: Request,
    body: Request['body'],
    redirects: number,
    isSameOrigin: boolean,
  ): Promise<Response> {
    const headers = new Headers(request.headers)
    if (!isSameOrigin) for (const name of credentials) headers.delete(name)
    headers.set(targetHeader, target.href)
    headers.delete(redirectedHeader)
    if (redirects > 0) headers.set(redirectedHeader, isSameOrigin ? 'same-origin' : 'cross-origin')
    return platformFetch(`http://${runtimeHost}/`, {
      method: request.method,
      headers,
      body,
      signal: request.signal,
      redirect: 'manual',
      ...(body && { duplex: 'half' }),
      client,
    } as RequestInit)
  }

  return async (input, init) => {
    const request = new Request(input, init)
    let target = new URL(request.url)
    if (target.protocol === 'data:' || target.protocol === 'blob:') return platformFetch(input, init)
    let { body } = request
    let isSameOrigin = true
    for (let redirects = 0; ; redirects++) {
      const response = await send(target, request, body, redirects, isSameOrigin)
      const refusal = response.headers.get('x-selvedge-refused')
      if (refusal !== null) throw new TypeError(refusal)
      const location = response.headers.get('location')
      const isRedirect = location !== null && [301, 302, 303, 307, 308].includes(response.status)
      if (!isRedirect || request.redirect === 'manual') return response
      if (request.redirect === 'error') throw new TypeError(`${target} redirects to ${location}`)
      if (redirects === maxRedirects)
        throw new TypeError(`${target} redirects more than ${maxRedirects} times`)
      if (body !== null)
        throw new TypeError(`${target} redirects a request that has a body; send it to ${location}`)
      const next = new URL(location, target)
      // Never true again: what comes after another origin was chosen by it.
      isSameOrigin &&= next.origin === target.origin
      target = next
      body = null
    }
  }
}
