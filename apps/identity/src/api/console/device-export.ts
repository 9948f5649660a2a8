/** The devices that a filter selects, for the map, or as a file, CSV or JSON: read page by page, at the pace of the reader. */
import { identityPaths, OAuthError } from '@selvedge/protocol'
import { type Device, type DeviceFilter, deviceFilter } from '@selvedge/protocol/console'
import { escapeControls } from '@selvedge/protocol/redaction'
import type { AddressSet } from '@selvedge/service-kit/address-set'
import { addressOf, createLimiter, takeOrRefuse } from '@selvedge/service-kit/http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { NodeFilter } from '../../registry/nodes/node-filter.ts'
import type { Nodes } from '../../registry/nodes/nodes.ts'
import type { Audit } from '../../storage/audit/audit.ts'
import type { BeginExport } from './account-exports.ts'
import type { Callers } from './callers.ts'
import { csvHead, toCsv } from './device-csv.ts'
import type { DeviceStates } from './device-states.ts'
import { through } from './discovery-stream.ts'
import { addStates } from './place-states.ts'
import type { Places } from './places.ts'
import { longStream } from './send-long.ts'
import type { ShowDevices } from './show-devices.ts'

export interface DeviceExportParts {
  readonly callers: Pick<Callers, 'require'>
  readonly nodes: Pick<Nodes, 'after'>
  readonly show: ShowDevices
  readonly states: DeviceStates
  readonly audit: Audit
  readonly beginExport: BeginExport
  readonly trustedProxies: AddressSet
}

/** Devices that an export has in memory at once. */
const pageSize = 100
/** Exports of one person. */
const rate = { burst: 10, perSecond: 1 / 30 }

interface Format {
  readonly name: string
  readonly type: string
  readonly head: string
  /** @param isFirst whether nothing but the head is before it */
  page(devices: readonly Device[], isFirst: boolean): string
  readonly end: string
}

const csv: Format = {
  name: 'csv',
  type: 'text/csv; charset=utf-8; header=present',
  head: csvHead,
  page: toCsv,
  end: '',
}

const json: Format = {
  name: 'json',
  type: 'application/json; charset=utf-8',
  head: '[',
  page: (devices, isFirst) =>
    devices
      .map((each, at) => `${isFirst && at === 0 ? '' : ','}\n${escapeControls(JSON.stringify(each))}`)
      .join(''),
  end: '\n]\n',
}

/** @param onlineSince Unix milliseconds: devices that were seen then or later are online */
const nodeFilterOf = (
  { search = '', state, tag, service, version, need }: DeviceFilter,
  onlineSince: number,
): NodeFilter => ({ search, state, tag, service, version, need, onlineSince })

export function addDeviceExport(app: FastifyInstance, parts: DeviceExportParts): void {
  const { callers, audit, states, trustedProxies } = parts
  const limiter = createLimiter(rate)
  const send = (format: Format) => async (request: FastifyRequest, reply: FastifyReply) => {
    const { membership, person } = await callers.require(request, reply)
    const asked = deviceFilter.safeParse(request.query)
    if (!asked.success) throw new OAuthError('invalid_request', 'the query is not a filter of devices')
    const { accountId } = membership
    takeOrRefuse(limiter, person.personId, 'exports')
    const at = states.now()
    const filter = nodeFilterOf(asked.data, states.onlineSince(at))
    const content = parts.beginExport(accountId, contentOf(format, pagesOf(parts, accountId, filter, at)))
    const entry = { accountId, actor: person.email, action: 'device.export', outcome: 'ok' } as const
    await audit
      .record({ ...entry, address: addressOf(request.raw, trustedProxies), detail: format.name })
      .catch((cause) => {
        content.destroy()
        throw cause
      })
    reply
      .type(format.type)
      .header('Content-Disposition', `attachment; filename="selvedge-devices.${format.name}"`)
    return reply.send(content)
  }

  app.get(identityPaths.consoleDevicesCsv, send(csv))
  app.get(identityPaths.consoleDevicesJson, send(json))
}

async function* contentOf(format: Format, pages: AsyncIterable<readonly Device[]>): AsyncGenerator<string> {
  yield format.head
  let isFirst = true
  for await (const devices of pages) {
    yield format.page(devices, isFirst)
    isFirst = false
  }
  yield format.end
}

async function* pagesOf(
  { nodes, show }: Pick<DeviceExportParts, 'nodes' | 'show'>,
  accountId: string,
  filter: NodeFilter,
  at: number,
): AsyncGenerator<readonly Device[]> {
  // A discovery service that does not answer is asked once, and not for each page.
  let isLocated = true
  for (let last: Parameters<Nodes['after']>[2]; ; ) {
    const some = await nodes.after(accountId, filter, last, pageSize)
    last = some.at(-1)?.node
    if (!last) return
    const { devices, hasPlaces } = await show(accountId, some, at, isLocated)
    isLocated = hasPlaces
    yield devices
  }
}

export interface SelectedPlacesParts {
  readonly callers: Pick<Callers, 'require'>
  readonly nodes: Pick<Nodes, 'standings'>
  readonly places: Pick<Places, 'all'>
  readonly states: DeviceStates
}

/** Devices that one statement reads for the map. */
const standingsSize = 5000
/** Searches of one person: each reads the names of the whole account. */
const searchRate = { burst: 30, perSecond: 2 }
/** The locations of the devices that a filter selects: the map shows what the list shows. */
export function addSelectedPlaces(app: FastifyInstance, parts: SelectedPlacesParts): void {
  const { callers, places, states } = parts
  const searches = createLimiter(searchRate)
  app.get(identityPaths.consolePlaces, async (request, reply) => {
    const { membership, person } = await callers.require(request, reply)
    const asked = deviceFilter.safeParse(request.query)
    if (!asked.success) throw new OAuthError('invalid_request', 'the query is not a filter of devices')
    if (asked.data.search) takeOrRefuse(searches, person.personId, 'searches')
    const { accountId } = membership
    const filter = nodeFilterOf(asked.data, states.onlineSince(states.now()))
    const selected = await readSelected(parts, accountId, filter)
    const all = await places.all(accountId)
    if (!all) return reply.code(503).header('Retry-After', '5').send({ error: 'temporarily_unavailable' })
    return reply.type('application/json').send(longStream(request, reply, through(all, addStates(selected))))
  })
}

/**
 * @returns for each device that the filter selects, until which Unix second it is online unless it is seen again; -1 for a blocked one
 */
async function readSelected(
  { nodes, states }: Pick<SelectedPlacesParts, 'nodes' | 'states'>,
  accountId: string,
  filter: NodeFilter,
): Promise<ReadonlyMap<string, number>> {
  const selected = new Map<string, number>()
  for (let last: Awaited<ReturnType<Nodes['standings']>>[number] | undefined; ; ) {
    const some = await nodes.standings(accountId, filter, last, standingsSize)
    for (const each of some) selected.set(each.nodeId, states.onlineUntil(each))
    last = some.at(-1)
    if (!last || some.length < standingsSize) return selected
  }
}
