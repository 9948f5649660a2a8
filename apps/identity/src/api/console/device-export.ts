/** The devices that a filter selects as a file, CSV or JSON: read page by page, at the pace of the reader. */
import { identityPaths, OAuthError } from '@selvedge/protocol'
import { type Device, deviceFilter } from '@selvedge/protocol/console'
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
import type { ShowDevices } from './show-devices.ts'

export interface DeviceExportParts {
  readonly callers: Pick<Callers, 'require'>
  readonly nodes: Pick<Nodes, 'after'>
  readonly show: ShowDevices
  readonly onlineSince: () => number
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

export function addDeviceExport(app: FastifyInstance, parts: DeviceExportParts): void {
  const { callers, audit, onlineSince, trustedProxies } = parts
  const limiter = createLimiter(rate)
  const send = (format: Format) => async (request: FastifyRequest, reply: FastifyReply) => {
    const { membership, person } = await callers.require(request, reply)
    const asked = deviceFilter.safeParse(request.query)
    if (!asked.success) throw new OAuthError('invalid_request', 'the query is not a filter of devices')
    const { accountId } = membership
    takeOrRefuse(limiter, person.personId, 'exports')
    const { search = '', state, tag, service, version } = asked.data
    const filter = { search, state, tag, service, version, onlineSince: onlineSince() }
    const content = parts.beginExport(accountId, contentOf(format, pagesOf(parts, accountId, filter)))
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
): AsyncGenerator<readonly Device[]> {
  // A discovery service that does not answer is asked once, and not for each page.
  let isLocated = true
  for (let last: Parameters<Nodes['after']>[2]; ; ) {
    const some = await nodes.after(accountId, filter, last, pageSize)
    last = some.at(-1)?.node
    if (!last) return
    const { devices, hasPlaces } = await show(accountId, some, isLocated)
    isLocated = hasPlaces
    yield devices
  }
}
