/**
 * Keeps containers from programs of this device: one rule of the packet filter for each network of a container refuses connections
 * that begin in it. The runtime connects to the container, never the other way round. The address of the container cannot be forged:
 * it has no capabilities.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { RpcError } from '@selvedge/protocol'
import { reportFailure, safely } from '@selvedge/service-kit/safely'

/** Milliseconds between two checks that the rules are there: another program may replace the whole table. */
const checkMs = 30_000
const tools = ['/usr/sbin/iptables', '/sbin/iptables', '/usr/bin/iptables']
/** Seconds to wait for another program that changes the table. */
const lockSeconds = '10'

export interface HostGuard {
  /** Why there is no protection, for people; undefined where there is. */
  readonly missing: string | undefined
  /**
   * Protects the device from a network. To be called before a container of it starts.
   *
   * @param network its name
   * @param subnet IPv4, such as `10.89.0.0/24`
   * @throws RpcError `engine_unavailable` if the packet filter fails
   */
  protect(network: string, subnet: string): Promise<void>
  /** Removes the rule of a network. @throws Error if the packet filter fails */
  release(network: string): Promise<void>
  /** Removes rules that an earlier run left, but for those of networks that are still there. @param prefix of names of networks */
  releaseOthers(prefix: string, networks: readonly string[]): Promise<void>
  close(): void
}

const run = (program: string, args: readonly string[]) =>
  promisify(execFile)(program, args, { timeout: 30_000 })

/** A guard that protects where this process may change the packet filter: as root, with iptables. */
export function createHostGuard(): HostGuard {
  const tool = tools.find(existsSync)
  const isRoot = process.getuid?.() === 0
  const missing = !isRoot
    ? 'the runtime does not run as root, and cannot change the packet filter'
    : tool === undefined
      ? `there is no iptables at ${tools.join(', ')}`
      : undefined
  const subnets = new Map<string, string>()
  const call = async (...args: readonly string[]) => (await run(tool!, ['-w', lockSeconds, ...args])).stdout
  const rule = (network: string, subnet: string) => [
    ...['INPUT', '-s', subnet, '-m', 'conntrack', '--ctstate', 'NEW'],
    ...['-m', 'comment', '--comment', network, '-j', 'REJECT'],
  ]
  const remove = (network: string, subnet: string) => call('-D', ...rule(network, subnet))

  async function ensure(network: string, subnet: string): Promise<void> {
    const isThere = await call('-C', ...rule(network, subnet)).then(
      () => true,
      () => false,
    )
    if (!isThere) await call('-I', ...rule(network, subnet))
  }

  async function checkAll(): Promise<void> {
    for (const [network, subnet] of subnets)
      await ensure(network, subnet).catch((cause) => reportFailure('oci.guard', cause))
  }
  const checking = setInterval(safely('oci.guard', checkAll), checkMs).unref()

  return {
    missing,
    async protect(network, subnet) {
      if (missing !== undefined) return
      const bits = Number(/^\d{1,3}(?:\.\d{1,3}){3}\/(\d{1,2})$/.exec(subnet)?.[1])
      try {
        // A rule for less would refuse connections of others.
        if (!(bits >= 12)) throw new Error(`its subnet is ${JSON.stringify(subnet)}`)
        await ensure(network, subnet)
      } catch (cause) {
        throw new RpcError(
          'engine_unavailable',
          `the device cannot be protected from the network of the container: ${(cause as Error).message.slice(0, 300)}`,
          { cause, hint: 'Check that "iptables -S INPUT" works on the device.' },
        )
      }
      subnets.set(network, subnet)
    },
    async release(network) {
      const subnet = subnets.get(network)
      subnets.delete(network)
      if (subnet !== undefined) await remove(network, subnet)
    },
    async releaseOthers(prefix, networks) {
      if (missing !== undefined) return
      for (const line of (await call('-S', 'INPUT')).split('\n')) {
        const network = /--comment "?([\w-]+)"? /.exec(line)?.[1] ?? ''
        const subnet = / -s (\S+) /.exec(line)?.[1]
        if (network.startsWith(prefix) && subnet !== undefined && !networks.includes(network))
          await remove(network, subnet)
      }
    },
    close: () => clearInterval(checking),
  }
}
