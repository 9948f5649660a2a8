/** The URL at which a program on this machine, such as a browser, reaches the runtime. */
import { createRuntimeClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import type { Context } from './context.ts'
import { usualUrl } from './runtime-address.ts'

const timeoutMs = 2000

/**
 * @param path of a service or page; it begins with `/`
 * @returns undefined if the runtime is reached over its socket, and does not answer at the usual URL as well
 */
export async function pageUrlOf(context: Context, path: string): Promise<string | undefined> {
  if (!path.startsWith('/')) return undefined
  if (!context.isLocal()) return context.runtimeConnection.url + path
  const { SELVEDGE_RUNTIME_PORT: port } = context.env
  const url = port ? `http://localhost:${port}` : usualUrl
  const { nodeId } = await context.runtime.getMe()
  return (await nodeAt(url)) === nodeId ? url + path : undefined
}

/** The call carries no secret: what answers there may be of another user. */
const nodeAt = (url: string): Promise<string | undefined> =>
  createRuntimeClient({ url, fetch: createNodeFetch(), timeoutMs })
    .getMe()
    .then(
      ({ nodeId }) => nodeId,
      () => undefined,
    )

/** URL of the console, with a name and not an address: passkeys need one. */
export async function consoleUrlOf({ findService }: Context): Promise<string> {
  const url = new URL((await findService('identity')).url)
  if (url.hostname === '127.0.0.1') url.hostname = 'localhost'
  return url.href
}
