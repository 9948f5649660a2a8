/**
 * The identity service: the global cloud (registry of nodes, issuer of edge ID tokens) and the tenant (accounts, projects,
 * token endpoint, console), together or separate. This is the composition root, where the four groups meet.
 */
import type { Clock } from '@selvedge/service-kit/clock'
import type { Readiness, Service } from '@selvedge/service-kit/lifecycle'
import type { Log } from '@selvedge/service-kit/log'
import type { Metrics } from '@selvedge/service-kit/metrics'
import type { Network } from '@selvedge/service-kit/network'
import { openApi } from './api/api.ts'
import type { IdentityConfig } from './config.ts'
import { openRegistry, type Registry } from './registry/registry.ts'
import { createUrls } from './registry/urls.ts'
import { openStorage } from './storage/storage.ts'
import { openTokens } from './tokens/tokens.ts'

/** Seconds until the link for the first owner expires; each start creates a new one. */
const setupLifetimeSeconds = 86_400

/** Creates all parts first; what runs by itself starts after the last of them exists. */
export async function startIdentity(
  config: IdentityConfig,
  machine: {
    clock: Clock
    log: Log
    metrics: Metrics | undefined
    readiness: Readiness
    network: Network
    env: Readonly<Record<string, string | undefined>>
  },
): Promise<Service> {
  const { log } = machine
  const storage = await openStorage(config, machine)
  const registry = await openRegistry(config, storage, createUrls(config))
  const tokens = await openTokens(config, storage, registry, machine.network)
  const api = await openApi(config, storage, registry, tokens, machine)
  const url = registry.urls.issuer()

  registry.start()
  storage.start(registry.tasks)
  tokens.start()
  log.debug('ready', { issuer: url, role: config.role })

  const setup = config.role === 'cloud' ? {} : await setupLink(registry)
  // Not the link itself: more people read the log than the operator's socket.
  if (setup.setup !== undefined)
    log.info('no person can sign in yet', { firstOwner: 'selvedge-admin account link' })
  return {
    ready: { url, ...setup },
    async stop() {
      await api.close()
      await registry.close()
      await tokens.close()
      await storage.close()
      log.debug('stopped')
    },
  }
}

/** If no person can sign in yet, the log of the start shows the link that creates the first owner. */
async function setupLink({ links, urls }: Registry): Promise<{ setup?: string }> {
  const secret = await links.createSetup(setupLifetimeSeconds)
  // After the #: it is never sent, so it is in no log and no Referer.
  return secret === undefined ? {} : { setup: `${urls.console()}/setup#${secret}` }
}
