/** What a runtime needs: the checks of `selvedge doctor`. */
import { isSelvedgeError } from '@selvedge/client'
import {
  describeNoticeReason,
  type Methods,
  type Notice,
  type NoticeReason,
  type PortRecord,
  portName,
  type ResultOf,
} from '@selvedge/protocol'
import { fingerprintOf } from '@selvedge/protocol/tokens'
import { checkService, type ServiceCheck } from '../context/check-service.ts'
import type { Context } from '../context/context.ts'
import { type Check, failed, fixable, passed } from './check.ts'
import { checkUnits } from './units.ts'

/** @throws RpcFailure | ConnectionFailure */
export async function checkNeeds(context: Context): Promise<readonly Check[]> {
  const { runtime } = context
  const units = checkUnits()
  // First: a check of an engine clears its notice if the engine works again.
  const engines = await runtime.getEngines().catch((cause: unknown) => refuseAway(cause, units))
  if (engines === undefined) return units
  const [me, identity, discovery] = await Promise.all([
    runtime.getMe(),
    checkService(context, 'identity'),
    checkService(context, 'discovery'),
  ])
  const engine = (name: string, { available, detail, isolation, hints }: typeof engines.oci): Check => ({
    name,
    ok: available,
    detail: isolation.length > 0 ? `${detail}: ${isolation.join(', ')}` : detail,
    hints,
  })
  return [
    ...units,
    passed('runtime', `${me.version}, node ${me.nodeId}`),
    describeAccount(me),
    me.time.state === 'unknown'
      ? fixable(
          'time',
          `unknown, ${me.time.now}: the clock is wrong, and no service has sent the time yet`,
          ['timedatectl', 'set-ntp', 'true'],
          'Without a time server on this network: sudo timedatectl set-time "2026-01-31 12:00:00", or connect the device to its identity service.',
        )
      : passed('time', `${me.time.state}, ${me.time.now}`),
    ...describeProxy(me.network),
    describeService('identity', identity),
    describeService('discovery', discovery),
    engine('functions', engines.function),
    engine('oci', engines.oci),
    ...(engines.ports ?? []).map(describePort),
    ...me.notices.filter(({ reason }) => !shownByChecks.has(reason)).map(describeNotice),
  ]
}

/** Of a device that waits for an approval, what its owner compares. */
function describeAccount({ accountId, nodeId, notices }: ResultOf<Methods['getMe']>): Check {
  if (accountId !== '') return passed('account', accountId)
  if (!notices.some(({ reason }) => reason === 'join_waiting'))
    return failed('account', 'no account', 'selvedge up')
  const fingerprint = fingerprintOf(nodeId)
  return failed(
    'account',
    `no account; an owner has to approve the device with the fingerprint ${fingerprint}`,
    `As an owner: selvedge join approve ${fingerprint}, or the page “Join keys” of the console`,
  )
}

/** Notices of conditions that a check of its own shows. */
const shownByChecks: ReadonlySet<string> = new Set([
  'function_engine_unavailable',
  'oci_engine_unavailable',
  'join_waiting',
] satisfies NoticeReason[])

const describeNotice = ({ reason, names = [], errorId, time }: Notice): Check =>
  failed(
    'notice',
    `${[reason, ...names].join(', ')} (error ID ${errorId}, ${time})`,
    describeNoticeReason(reason),
    `The cause: journalctl --unit=selvedge | grep ${errorId}`,
  )

/** @returns undefined where a failed unit explains why the runtime does not answer. @throws the cause elsewhere */
function refuseAway(cause: unknown, units: readonly Check[]): undefined {
  if (isSelvedgeError(cause) && cause.reason === 'not_running' && units.length > 0) return undefined
  throw cause
}

/** A port of a container: who reaches it, or why it is closed. */
function describePort(port: PortRecord): Check {
  const { target, reach, problem } = port
  const name = `${portName(port)} to port ${target} of a container`
  if (problem !== null)
    return failed('port', `${name}: closed, ${problem}`, '"selvedge container list" shows the container.')
  return passed(
    'port',
    reach === 'network'
      ? `${name}: open to the network (services.publish)`
      : `${name}: open to programs of this device; closed to the network, services.publish does not list it`,
  )
}

type Remote = { readonly reachable: boolean | null; readonly lastError?: string | undefined }

/** The proxy of the runtime, and whether the services are reached through it. */
function describeProxy({
  proxy,
  identity,
  discovery,
}: {
  readonly proxy?: string | undefined
  readonly identity: Remote
  readonly discovery: Remote
}): readonly Check[] {
  if (proxy === undefined) return []
  const away = [identity, discovery].find(({ reachable }) => reachable === false)
  if (!away) return [passed('proxy', proxy)]
  const fix =
    'Check network.proxy, network.proxyAuthFile, network.noProxy, network.caFile and network.clientCertificates of the runtime.'
  return [failed('proxy', `${proxy}: ${away.lastError ?? 'a service is not reached'}`, fix)]
}

function describeService(name: string, { url, answers, problem, hint }: ServiceCheck): Check {
  if (answers) return passed(name, `answers at ${url}`)
  return failed(name, url === null ? problem : `no answer at ${url}: ${problem}`, hint)
}
