/** What a runtime needs: the checks of `selvedge doctor`. */
import { describeNotice, type PortRecord, portName } from '@selvedge/protocol'
import { checkService, type ServiceCheck } from '../context/check-service.ts'
import type { Context } from '../context/context.ts'
import { type Check, failed, passed } from './check.ts'

/** @throws RpcFailure | ConnectionFailure */
export async function checkNeeds(context: Context): Promise<readonly Check[]> {
  const { runtime } = context
  const me = await runtime.getMe()
  const [engines, identity, discovery] = await Promise.all([
    runtime.getEngines(),
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
    passed('runtime', `${me.version}, node ${me.nodeId}`),
    me.accountId === ''
      ? failed('account', 'none', 'Associate one: selvedge account associate.')
      : passed('account', me.accountId),
    me.time.state === 'unknown'
      ? failed('time', `unknown, ${me.time.now}`, 'The clock is wrong, and no service has sent the time yet.')
      : passed('time', `${me.time.state}, ${me.time.now}`),
    ...describeProxy(me.network),
    describeService('identity', identity),
    describeService('discovery', discovery),
    engine('functions', engines.function),
    engine('oci', engines.oci),
    ...(engines.ports ?? []).map(describePort),
    ...me.notices.map((notice) => ({ name: 'notice', ok: false, detail: describeNotice(notice), hints: [] })),
  ]
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

function describeService(name: string, { url, answers, problem }: ServiceCheck): Check {
  if (answers) return passed(name, `answers at ${url}`)
  return failed(
    name,
    url === null ? problem : `no answer at ${url}`,
    'Local functions work without it. Check the network and the URL in the configuration.',
  )
}
