/** An identity and a discovery service with a fleet that grows, and a browser of its owner. */
import type { Page } from 'playwright-core'
import { adminOf } from '../../../harness/flow.ts'
import { becomeOwner, openBrowser, type PersonAtBrowser } from '../../../harness/person.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../../../harness/processes.ts'
import { addToDiscovery, addToRegistry } from './fleet.ts'

export interface FleetStack {
  readonly person: PersonAtBrowser
  readonly page: Page
  readonly origin: string
  readonly identity: Program
  discovery(): Program
  /** Adds devices until there are so many. */
  grow(devices: number): Promise<void>
  stop(): Promise<void>
}

export async function startFleetStack(): Promise<FleetStack> {
  const folder = await temporaryFolder()
  const env = { SELVEDGE_STATE: folder.path, ...freePorts }
  const startDiscovery = (port: string) =>
    startProgram('discovery', {
      ...{ ...env, SELVEDGE_DISCOVERY_PORT: port },
      // It does not need the identity service to start.
      SELVEDGE_IDENTITY_URL: identityUrl,
    })
  let identityUrl = 'http://127.0.0.1:9'
  let discovery = await startDiscovery('0')
  const { port } = new URL(discovery.url)
  const identity = await startProgram('identity', { ...env, SELVEDGE_DISCOVERY_URL: discovery.url })
  identityUrl = identity.url
  const person = await openBrowser({ map: true })
  const { page } = person
  await becomeOwner(page, identity.ready.setup!)
  const [account] = await adminOf(folder.path)['account.list']()
  const { accountId } = account!
  let known = 0
  return {
    person,
    page,
    origin: new URL(identity.ready.setup!).origin,
    identity,
    discovery: () => discovery,
    async grow(devices) {
      await discovery.stop()
      await addToDiscovery(folder.path, accountId, known, devices)
      addToRegistry(folder.path, accountId, known, devices)
      known = devices
      discovery = await startDiscovery(port)
    },
    async stop() {
      await person.close()
      await discovery.stop()
      await identity.stop()
      await folder.remove()
    },
  }
}
