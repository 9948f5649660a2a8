/** Runtimes on local networks of their own (namespaces of the kernel), with link-local discovery. Needs root. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { createRuntimeClient, type RuntimeClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import type { NodeRecord } from '@selvedge/protocol'
import { accessToken, createDeveloper, type Developer } from './flow.ts'
import { type Hosts, makeNetworks, type Networks } from './networks.ts'
import { type Program, root, type Stack, startProgram, startStack, temporaryFolder } from './processes.ts'

interface Device {
  readonly state: string
  /** Calls the runtime over its Unix socket, past the network. */
  readonly client: RuntimeClient
  readonly nodeId: string
  readonly token: string
  runtime: Program
}

export interface Neighbourhood {
  readonly stack: Stack
  readonly networks: Networks
  /** By host. */
  readonly devices: Readonly<Record<string, Device>>
  /** A new developer account. */
  createAccount(): Promise<Developer>
  /** Prepares a runtime where the services are, then moves it to its host. @param account to associate it with */
  join(host: string, account: Developer | undefined): Promise<void>
  /** Starts the runtime of a host again. */
  restart(host: string): Promise<void>
  /** What a host's `getNodes` answers for the cluster `linkLocal`. */
  seenBy(host: string): Promise<readonly NodeRecord[]>
  /** The same, each as `host state name IPv4-addresses`; a node that is no host of these is `nobody`. */
  picture(host: string): Promise<readonly string[]>
  /** Runs lines of JavaScript on a host, as a program that is not ours. */
  play(host: string, script: string): string
  remove(): Promise<void>
}

export async function makeNeighbourhood(hosts: Hosts): Promise<Neighbourhood> {
  const stack = await startStack()
  const networks = makeNetworks(hosts)
  const devices: Record<string, Device> = {}
  const folders: { remove(): Promise<void> }[] = []
  const environment = (host: string, state: string) => ({
    SELVEDGE_STATE: state,
    SELVEDGE_RUNTIME_PORT: '0',
    SELVEDGE_NAME: host,
    SELVEDGE_IDENTITY_URL: stack.identity.url,
    SELVEDGE_DISCOVERY_URL: stack.discovery.url,
  })
  const start = (host: string, state: string) => {
    const env = { ...environment(host, state), SELVEDGE_LINK_LOCAL: 'true' }
    return startProgram('runtime', env, [], { space: networks.spaceOf(host) })
  }
  async function seenBy(host: string): Promise<readonly NodeRecord[]> {
    const { client, token } = devices[host]!
    return (await client.getNodes({ edgeAccessToken: token, cluster: 'linkLocal' })).data
  }
  return {
    stack,
    networks,
    devices,
    createAccount: () => createDeveloper(stack.state),
    async join(host, account) {
      const folder = await temporaryFolder()
      folders.push(folder)
      const runtime = await startProgram('runtime', environment(host, folder.path))
      const client = createRuntimeClient({ url: runtime.url })
      const { nodeId } = await client.getMe()
      // A runtime without an account answers callers with a token of any account.
      const caller = account ?? (await createDeveloper(stack.state))
      const token = await accessToken({ ...stack, runtime }, caller)
      if (account) {
        await client.associateAccount({ edgeAccessToken: token })
        const fix = { longitude: '1', latitude: '1', speed: '0', bearing: '0' }
        await client.updateGps({ edgeAccessToken: token, ...fix })
      }
      await runtime.stop()
      const { path: state } = folder
      const socket = createNodeFetch({ socketPath: join(state, 'runtime.sock') })
      const local = createRuntimeClient({ url: 'http://localhost', fetch: socket })
      devices[host] = { state, client: local, nodeId, token, runtime: await start(host, state) }
    },
    async restart(host) {
      const device = devices[host]!
      await device.runtime.stop()
      device.runtime = await start(host, device.state)
    },
    seenBy,
    async picture(host) {
      const known = new Map(Object.entries(devices).map(([name, { nodeId }]) => [nodeId, name]))
      const all = (await seenBy(host)).map(({ nodeId, state, name, addresses }) => {
        const ipv4 = addresses.filter((each) => !each.includes(':')).join(' ')
        return `${known.get(nodeId) ?? 'nobody'} ${state} ${name} ${ipv4}`
      })
      return all.sort()
    },
    play: (host, script) =>
      execFileSync(
        'ip',
        ['netns', 'exec', networks.spaceOf(host), process.execPath, '--input-type=module', '-e', script],
        { cwd: join(root, 'apps/runtime'), encoding: 'utf8', timeout: 120_000 },
      ),
    async remove() {
      for (const { runtime } of Object.values(devices)) await runtime.stop()
      networks.remove()
      await stack.stop()
      for (const folder of folders) await folder.remove()
    },
  }
}
