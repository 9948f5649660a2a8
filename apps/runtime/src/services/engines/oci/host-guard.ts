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

/** Something on this device that the containers of a network may connect to. */
export interface Exception {
  /** IPv4 address of this device. */
  readonly to: string
  readonly protocol: 'tcp' | 'udp'
  readonly port: number
}

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
  /** Lets a protected network connect to something on this device. @throws RpcError as `protect` */
  except(network: string, exceptions: readonly Exception[]): Promise<void>
  /** Removes the rules of a network. @throws Error if the packet filter fails */
  release(network: string): Promise<void>
  /** Removes rules that an earlier run left, but for those of networks that are still there. @param prefix of names of networks */
  releaseOthers(prefix: string, networks: readonly string[]): Promise<void>
  close(): void
}

const run = (program: string, args: readonly string[]) =>
  promisify(execFile)(program, args, { timeout: 30_000 })

interface Guarded {
  readonly subnet: string
  readonly exceptions: readonly Exception[]
}

const ruleOf = (network: string, subnet: string): readonly string[] => [
  ...['INPUT', '-s', subnet, '-m', 'conntrack', '--ctstate', 'NEW'],
  ...['-m', 'comment', '--comment', network, '-j', 'REJECT'],
]

const exceptionOf = (
  network: string,
  subnet: string,
  { to, protocol, port }: Exception,
): readonly string[] => [
  ...['INPUT', '-s', subnet, '-d', to, '-p', protocol, '--dport', String(port)],
  ...['-m', 'comment', '--comment', network, '-j', 'ACCEPT'],
]

/** A rule of a network, as the packet filter lists it. */
interface Listed {
  readonly network: string
  readonly isException: boolean
  readonly args: readonly string[]
}

function readRule(line: string): Listed | undefined {
  const network = /--comment "?([\w-]+)"? /.exec(line)?.[1]
  if (network === undefined || !line.startsWith('-A ')) return undefined
  const args = line.slice('-A '.length).replaceAll('"', '').split(' ')
  return { network, isException: line.endsWith('-j ACCEPT'), args }
}

const failed = (cause: Error): RpcError =>
  new RpcError(
    'engine_unavailable',
    `the device cannot be protected from the network of the container: ${cause.message.slice(0, 300)}`,
    { cause, hint: 'Check that "iptables -S INPUT" works on the device.' },
  )

/** The table of the packet filter. @param tool path of iptables */
function createTable(tool: string) {
  const call = async (...args: readonly string[]) => (await run(tool, ['-w', lockSeconds, ...args])).stdout
  return {
    call,
    isThere: (rule: readonly string[]) =>
      call('-C', ...rule).then(
        () => true,
        () => false,
      ),
    /** Removes rules of networks, also of an earlier run. */
    async removeListed(isUnwanted: (rule: Listed) => boolean): Promise<void> {
      for (const line of (await call('-S', 'INPUT')).split('\n')) {
        const rule = readRule(line)
        if (rule && isUnwanted(rule)) await call('-D', ...rule.args)
      }
    },
  }
}

/**
 * A guard that protects where this process may change the packet filter: as root, with iptables. Not on systems other than Linux, where
 * containers are in a network of the engine's virtual machine.
 */
export function createHostGuard(): HostGuard {
  const tool = process.platform === 'linux' ? tools.find(existsSync) : undefined
  const isRoot = process.getuid?.() === 0
  const missing = !isRoot
    ? 'the runtime does not run as root, and cannot change the packet filter'
    : tool === undefined
      ? `there is no iptables at ${tools.join(', ')}`
      : undefined
  const guarded = new Map<string, Guarded>()
  const { call, isThere, removeListed } = createTable(tool ?? '')

  async function ensure(network: string, { subnet, exceptions }: Guarded): Promise<void> {
    const rule = ruleOf(network, subnet)
    const isProtected = await isThere(rule)
    if (!isProtected) await call('-I', ...rule)
    for (const each of exceptions) {
      const exception = exceptionOf(network, subnet, each)
      const isExcepted = await isThere(exception)
      if (isExcepted && isProtected) continue
      // It counts only before the rule that refuses everything.
      if (isExcepted) await call('-D', ...exception)
      await call('-I', ...exception)
    }
  }

  async function checkAll(): Promise<void> {
    for (const [network, one] of guarded)
      await ensure(network, one).catch((cause) => reportFailure('oci.guard', cause))
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
        await ensure(network, { subnet, exceptions: [] })
      } catch (cause) {
        throw failed(cause as Error)
      }
      guarded.set(network, { subnet, exceptions: [] })
    },
    async except(network, exceptions) {
      const { subnet } = guarded.get(network) ?? {}
      if (missing !== undefined || subnet === undefined) return
      try {
        await removeListed((each) => each.network === network && each.isException)
        await ensure(network, { subnet, exceptions })
      } catch (cause) {
        throw failed(cause as Error)
      }
      guarded.set(network, { subnet, exceptions })
    },
    async release(network) {
      const one = guarded.get(network)
      guarded.delete(network)
      if (!one) return
      for (const each of one.exceptions) await call('-D', ...exceptionOf(network, one.subnet, each))
      await call('-D', ...ruleOf(network, one.subnet))
    },
    async releaseOthers(prefix, networks) {
      if (missing !== undefined) return
      await removeListed(({ network }) => network.startsWith(prefix) && !networks.includes(network))
    },
    close: () => clearInterval(checking),
  }
}
