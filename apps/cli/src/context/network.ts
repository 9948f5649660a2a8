/** How the command line reaches other machines: by the variables that other programs read, three of its own, and the settings of an installed service. */
import { createNetwork, type Network, type NetworkOptions, NetworkSettingError } from '@selvedge/client/node'
import { networkHint, UsageError } from '../failure.ts'
import { type Installation, ownInstallation, type Section, unitEnv } from '../production/installed-service.ts'
import { readSettings } from '../production/settings.ts'
import type { Env } from './runtime-address.ts'

/**
 * @returns the network of the environment: `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, `SELVEDGE_PROXY_AUTH_FILE`, `SELVEDGE_CA_FILE`,
 * `SELVEDGE_CLIENT_CERTIFICATES`, and, in an installation, the settings that its service has. It is read at the first request: other
 * commands work with variables that cannot be used
 * @throws UsageError (the function) for a variable that cannot be used
 */
export function createOwnNetwork(env: Env, installation = ownInstallation()): Pick<Network, 'agentFor'> {
  let network: Network | undefined
  return {
    agentFor(url, use) {
      network ??= open(env, installation)
      return network.agentFor(url, use)
    },
  }
}

function open(env: Env, installation: Installation): Network {
  try {
    return createNetwork(networkOptions(env, installation))
  } catch (cause) {
    if (!(cause instanceof NetworkSettingError)) throw cause
    throw new UsageError(cause.message, networkHint)
  }
}

const sections: readonly Section[] = ['runtime', 'identity', 'discovery']
const proxyVariables = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'] as const

/** What the caller names counts first, then the variables of the unit, then its settings. */
function networkOptions(env: Env, installation: Installation): NetworkOptions {
  const own = sections
    .map((section) => ({ section, unit: unitEnv(section, env, installation) }))
    .find(({ unit }) => unit !== env)
  const variables = own?.unit ?? env
  const settings = own && readSettings(own.unit)
  const text = (name: string) => {
    const value = own && settings?.get(own.section, `network.${name}`)
    return typeof value === 'string' ? value : ''
  }
  const list = (name: string) => {
    const value = own && settings?.get(own.section, `network.${name}`)
    return Array.isArray(value) ? value.map(String) : []
  }
  const isNamed = proxyVariables.some((name) => env[name])
  const certificates = variables.SELVEDGE_CLIENT_CERTIFICATES
  return {
    env: variables,
    proxy: isNamed ? '' : variables.SELVEDGE_PROXY || text('proxy'),
    noProxy: env.NO_PROXY || env.no_proxy ? [] : list('noProxy'),
    proxyAuthFile: variables.SELVEDGE_PROXY_AUTH_FILE || text('proxyAuthFile'),
    caFile: variables.SELVEDGE_CA_FILE || text('caFile'),
    clientCertificates: certificates
      ? certificates.split(',').filter((each) => each !== '')
      : list('clientCertificates'),
  }
}
