/** Which identity and discovery service the commands ask: the named one, else the one that the runtime uses. */
import type { RuntimeClient } from '@selvedge/client'
import { UsageError } from '../failure.ts'
import type { Unconfirmed } from './confirm.ts'
import type { Address, Env } from './runtime-address.ts'
import { readServiceUrl } from './service-url.ts'

export type ServiceName = 'identity' | 'discovery'

interface ServiceAddress {
  readonly url: string
  /** Set where a runtime named the service over anything but its own socket. */
  readonly unconfirmed?: Unconfirmed
}

export type ServiceFlags = { readonly [Name in `${ServiceName}Url`]?: string }

/** @throws UsageError | RpcFailure | ConnectionFailure */
export type FindService = (name: ServiceName) => Promise<ServiceAddress>

export function createFindService(
  flags: ServiceFlags,
  env: Env,
  runtime: { readonly client: RuntimeClient; readonly address: () => Address },
): FindService {
  return async (name) => {
    const flag = flags[`${name}Url`]
    if (flag !== undefined) return { url: readServiceUrl(flag, `--${name}-url`) }
    const variable = `SELVEDGE_${name.toUpperCase()}_URL`
    if (env[variable]) return { url: readServiceUrl(env[variable], variable) }
    const { url: runtimeUrl, isOwnSocket } = runtime.address()
    const { network } = await runtime.client.getMe()
    const given = network[name].url
    if (given === undefined)
      throw new UsageError(
        `the runtime at ${runtimeUrl} does not say which ${name} service it uses`,
        `Name it with --${name}-url or ${variable}.`,
      )
    const url = readServiceUrl(String(given), `the ${name} service of the runtime at ${runtimeUrl}`)
    if (isOwnSocket) return { url }
    return {
      url,
      unconfirmed: {
        key: `${name} ${url}`,
        shown: `The runtime at ${runtimeUrl} says that its ${name} service is ${new URL(url).host} (${url}).`,
        hint: `If that is right, name it: --${name}-url ${url}`,
      },
    }
  }
}
