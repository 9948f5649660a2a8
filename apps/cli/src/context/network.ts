/** How the command line reaches other machines: by the variables that other programs read, and three of its own. */
import { createNetwork, type Network, NetworkSettingError } from '@selvedge/client/node'
import { networkHint, UsageError } from '../failure.ts'
import type { Env } from './runtime-address.ts'

/**
 * @returns the network of the environment: `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, `SELVEDGE_PROXY_AUTH_FILE`, `SELVEDGE_CA_FILE`,
 * `SELVEDGE_CLIENT_CERTIFICATES`. It is read at the first request: other commands work with variables that cannot be used
 * @throws UsageError (the function) for a variable that cannot be used
 */
export function createOwnNetwork(env: Env): Pick<Network, 'agentFor'> {
  let network: Network | undefined
  return {
    agentFor(url, use) {
      network ??= open(env)
      return network.agentFor(url, use)
    },
  }
}

function open(env: Env): Network {
  try {
    return createNetwork({
      env,
      proxyAuthFile: env.SELVEDGE_PROXY_AUTH_FILE ?? '',
      caFile: env.SELVEDGE_CA_FILE ?? '',
      clientCertificates: (env.SELVEDGE_CLIENT_CERTIFICATES ?? '').split(',').filter((each) => each !== ''),
    })
  } catch (cause) {
    if (!(cause instanceof NetworkSettingError)) throw cause
    throw new UsageError(cause.message, networkHint)
  }
}
