/**
 * Keeps containers from programs of this device: one rule of the packet filter for each network of a container refuses connections
 * that begin in it. The runtime connects to the container, never the other way round. The address of the container cannot be forged:
 * it has no capabilities. A further rule keeps the containers of other engines than Podman from everything beyond the device.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { RpcError } from '@selvedge/protocol'
import { reportFailure, safely } from '@selvedge/service-kit/safely'
import { createTurns } from '../../turns.ts'

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
   * @param isClosed whether this device also forwards no packet of it: its engine may leave that to others
   * @throws RpcError `engine_unavailable` if the packet filter fails
   */
  protect(network: string, subnet: string, isClosed?: boolean): Promise<void>
  /** Lets a protected network connect to something on this device. @throws RpcError as `protect` */
  except(network: string, exceptions: readonly Exception[]): Promise<void>
  /** Removes the rules of a network. @throws Error if the packet filter fails */
  release(network: string): Promise<void>
  /** Removes rules that an earlier run left, but for those of networks that are still there. @param prefix of names of networks */
  releaseOthers(prefix: string, networks: readonly string[]): Promise<void>
  close(): void
}

/**
 * Runs the program of the packet filter (iptables(8)).
 *
 * @returns what it prints. @throws Error if it fails: with `-C`, the rule is not there
 */
export type PacketFilter = (...args: readonly string[]) => Promise<string>

const filterOf =
  (tool: string): PacketFilter =>
  async (...args) =>
    (await promisify(execFile)(tool, ['-w', lockSeconds, ...args], { timeout: 30_000 })).stdout

interface Guarded {
  readonly subnet: string
  readonly isClosed: boolean
  readonly exceptions: readonly Exception[]
}

const ruleOf = (network: string, subnet: string): readonly string[] => [
  ...['INPUT', '-s', subnet, '-m', 'conntrack', '--ctstate', 'NEW'],
  ...['-m', 'comment', '--comment', network, '-j', 'REJECT'],
]

const closingRuleOf = (network: string, subnet: string): readonly string[] => [
  ...['FORWARD', '-s', subnet, '-m', 'comment', '--comment', network, '-j', 'REJECT'],
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

/** Whether a rule is there. */
const isThere = (call: PacketFilter, rule: readonly string[]): Promise<boolean> =>
  call('-C', ...rule).then(
    () => true,
    () => false,
  )

/** Removes rules of networks, also of an earlier run. @returns the rules of networks that stay */
async function removeListed(
  call: PacketFilter,
  isUnwanted: (rule: Listed) => boolean,
): Promise<readonly Listed[]> {
  const rules = (await call('-S')).split('\n').flatMap((line) => readRule(line) ?? [])
  for (const each of rules) if (isUnwanted(each)) await call('-D', ...each.args)
  return rules.filter((each) => !isUnwanted(each))
}

/** Whether a listed rule is another one, as far as that one is given: the packet filter adds its defaults. */
const isListedAs = ({ args }: Listed, rule: readonly string[]): boolean =>
  rule.every((each, at) => args[at] === each)

/** Adds the rules of a network that are not there. */
async function ensure(call: PacketFilter, network: string, guarded: Guarded): Promise<void> {
  const { subnet, isClosed, exceptions } = guarded
  const closing = closingRuleOf(network, subnet)
  if (isClosed && !(await isThere(call, closing))) await call('-I', ...closing)
  const rule = ruleOf(network, subnet)
  const isProtected = await isThere(call, rule)
  if (!isProtected) await call('-I', ...rule)
  for (const each of exceptions) {
    const exception = exceptionOf(network, subnet, each)
    const isExcepted = await isThere(call, exception)
    if (isExcepted && isProtected) continue
    // It counts only before the rule that refuses everything.
    if (isExcepted) await call('-D', ...exception)
    await call('-I', ...exception)
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
  const guard = guardWith(filterOf(tool ?? ''), missing)
  const checking = setInterval(safely('oci.guard', guard.checkAll), checkMs).unref()
  return { ...guard, close: () => clearInterval(checking) }
}

/**
 * The rules of all networks in a packet filter. Changes of one network happen one after the other: a check never adds what another change
 * has just removed.
 *
 * @param missing why there is no protection: then nothing is run
 */
export function guardWith(
  call: PacketFilter,
  missing: string | undefined,
): Omit<HostGuard, 'close'> & { checkAll(): Promise<void> } {
  const guarded = new Map<string, Guarded>()
  const turns = createTurns(Number.POSITIVE_INFINITY)
  const change = (network: string, work: () => Promise<void>): Promise<void> =>
    turns.takeAnyway(network, work)

  return {
    missing,
    async protect(network, subnet, isClosed = false) {
      if (missing !== undefined) return
      const bits = Number(/^\d{1,3}(?:\.\d{1,3}){3}\/(\d{1,2})$/.exec(subnet)?.[1])
      await change(network, async () => {
        // A rule for less would refuse connections of others.
        if (!(bits >= 12)) throw new Error(`its subnet is ${JSON.stringify(subnet)}`)
        const one: Guarded = { subnet, isClosed, exceptions: [] }
        await ensure(call, network, one)
        guarded.set(network, one)
      }).catch((cause: Error) => {
        throw failed(cause)
      })
    },
    async except(network, exceptions) {
      if (missing !== undefined) return
      await change(network, async () => {
        const before = guarded.get(network)
        if (before === undefined) return
        const { subnet } = before
        const after: Guarded = { ...before, exceptions }
        const others = await removeListed(call, (each) => each.network === network && each.isException)
        // Before the rules are there: a check adds those that a failure left out, and no former one.
        guarded.set(network, after)
        // A container that starts waits for each call.
        if (!others.some((each) => isListedAs(each, ruleOf(network, subnet))))
          await ensure(call, network, after)
        else for (const each of exceptions) await call('-I', ...exceptionOf(network, subnet, each))
      }).catch((cause: Error) => {
        throw failed(cause)
      })
    },
    release: (network) =>
      change(network, async () => {
        // As the packet filter lists them: a change that failed may have left some of them.
        if (guarded.delete(network)) await removeListed(call, (each) => each.network === network)
      }),
    async releaseOthers(prefix, networks) {
      if (missing !== undefined) return
      await removeListed(call, ({ network }) => network.startsWith(prefix) && !networks.includes(network))
    },
    async checkAll() {
      for (const network of [...guarded.keys()])
        await change(network, async () => {
          const one = guarded.get(network)
          if (one) await ensure(call, network, one)
        }).catch((cause) => reportFailure('oci.guard', cause))
    },
  }
}
