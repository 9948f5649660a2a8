/**
 * Where the device is, and what is near: fixes from callers and receivers, their way to the discovery service, the nodes of the account,
 * and the nodes on the local network.
 *
 * It depends on the device. It must not know the services (it announces the device's presence) or how its methods are called.
 */
import { join } from 'node:path'
import { createDiscoveryClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { inBackground } from '@selvedge/service-kit/safely'
import { tracedFetch } from '@selvedge/service-kit/trace'
import type { RuntimeConfig } from '../config.ts'
import { createDiscoverySession } from '../device/cloud/discovery-session.ts'
import { createLink, type Link } from '../device/cloud/link.ts'
import type { Device } from '../device/device.ts'
import { createNetworkNotice } from '../device/node/network-notice.ts'
import { requestLimitMs, waitLimitMs } from '../device/time-limits.ts'
import { createGps, type Gps } from './gps/gps.ts'
import { createPublisher } from './gps/publisher.ts'
import { followReceiver } from './gps/receiver.ts'
import { limitsFor } from './gps/scarce.ts'
import { createLinkLocal, type LinkLocalService } from './link-local/start.ts'
import { openLastKnown } from './nodes/last-known.ts'
import { createNodes, type Nodes } from './nodes/nodes.ts'
import { createLocationSharing, type LocationSharing } from './nodes/sharing.ts'

export interface Location {
  readonly discovery: { readonly url: string; readonly link: Link }
  readonly gps: Gps
  readonly nodes: Nodes
  readonly sharing: LocationSharing
  /** Sends fixes that wait, listens on the local network and to the receiver. Everything that the presence shows must be there by then. */
  start(): void
  close(): Promise<void>
}

/** @param order the positional order of updateGps, for its refusals */
export async function openLocation(
  config: RuntimeConfig,
  device: Device,
  order: readonly string[],
): Promise<Location> {
  const { clock, presence, state, notices, signals, log } = device
  const url = config['discovery.url']
  const fetch = tracedFetch('discovery', createNodeFetch({ network: device.network.for('discovery') }))
  const client = createDiscoveryClient({ url, fetch, timeoutMs: requestLimitMs })
  const awaited = createDiscoveryClient({ url, fetch, timeoutMs: waitLimitMs })
  const showNetwork = createNetworkNotice(device.network, notices)
  const onLink = () => {
    signals.send('links')
    showNetwork()
  }
  const discovery = { url, link: createLink(clock, onLink), client }
  const session = createDiscoverySession({
    ...device,
    ...discovery,
    addresses: presence.addresses,
    services: presence.served,
  })
  const away = {
    async reaches() {
      const answers = await Promise.all(
        [device.identity.url, url].map((each) => device.network.reaches(each)),
      )
      return !answers.includes(false)
    },
    onReturn: () => device.network.for('discovery').renew('all'),
    onThere: () => device.network.for('discovery').renew('reused'),
  }
  const publisher = createPublisher({ ...device, ...discovery, session, away })
  const linkLocal = openLinkLocal(config, device)
  const lastKnown = await openLastKnown(join(device.folder, 'nodes'), log)
  const { neighbours, heard } = linkLocal
  const nodes = createNodes({ ...device, client: awaited, session, lastKnown, neighbours, heard })
  const usual = { maxError: config['gps.maxError'], maxIntervalMs: config['gps.maxInterval'] * 1000 }
  const limits = () => limitsFor(device.metering, usual)
  const gps = createGps({ state, clock, publisher, order, limits, onFix: () => signals.send('fixes') })
  device.onAccountChange(() => {
    session.restate()
    linkLocal.restate()
  })
  presence.onServicesChange(() => inBackground('publisher.restate', publisher.restate()))
  presence.onServicesChange(linkLocal.restate)
  let unfollow = (): void => undefined

  return {
    discovery,
    gps,
    nodes,
    sharing: createLocationSharing(state, clock, publisher.restate),
    start() {
      publisher.resume()
      linkLocal.start()
      unfollow = followReceiver(config['gps.source'], gps, log, notices)
    },
    async close() {
      unfollow()
      await Promise.all([publisher.stop(), linkLocal.close(), lastKnown.close()])
    },
  }
}

function openLinkLocal(config: RuntimeConfig, device: Device): LinkLocalService {
  const { nodeId, name, state, clock, presence, log, notices } = device
  return createLinkLocal(config['linkLocal.enabled'], {
    nodeId,
    accountId: () => state.value.accountId,
    accountKey: () => {
      const { accountId, accountKey } = state.value
      return accountKey?.accountId === accountId ? accountKey.key : undefined
    },
    statement: () => ({ name, services: presence.served() }),
    interfaces: config['linkLocal.interfaces'],
    port: () => Number(new URL(presence.url()).port),
    now: clock.now,
    isTimeTrusted: () => clock.state() === 'trusted',
    log,
    notices,
  })
}
