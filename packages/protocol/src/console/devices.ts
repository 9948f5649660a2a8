/** The devices of an account. */
import * as z from 'zod'
import { method, param } from '../methods/method.ts'
import { isoTime, nodeIdPattern } from '../methods/values.ts'
import { maxBulkDevices, maxDeviceTags } from './limits.ts'
import { any, done, owner } from './params.ts'
import * as records from './records.ts'

/** Orders of a list of devices. */
const deviceOrders = ['added', 'name', 'seen', 'version'] as const

const nodeId = param('nodeId', z.string().regex(nodeIdPattern), 'a node ID', 'Device.')
const page = param(
  'page',
  z.number().int().min(0).max(100_000).optional(),
  'a whole number from 0',
  'Which page; left out: the first.',
)
const search = param(
  'search',
  z.string().max(64).optional(),
  'a text of at most 64 characters',
  'Part of a name or a tag, or the beginning of a node ID; left out: all.',
)

const tag = param('tag', records.deviceTag.optional(), 'a tag', 'Only devices with this tag; left out: all.')
const service = param(
  'service',
  z.string().min(1).max(64).optional(),
  'the name of a service',
  'Only devices that state a service of this name; left out: all.',
)
const ofVersion = param(
  'version',
  z.string().min(1).max(64).optional(),
  'a version of the runtime',
  'Only devices with this version; left out: all.',
)
const state = param(
  'state',
  records.deviceState.optional(),
  'online, away or blocked',
  'Only devices in this state; left out: all.',
)
const need = param(
  'need',
  records.deviceNeed.optional(),
  `one of ${records.deviceNeed.options.join(', ')}`,
  'Only devices that need a person for this; left out: all.',
)
const sort = param(
  'sort',
  z.enum(deviceOrders).optional(),
  `one of ${deviceOrders.join(', ')}`,
  'Order; left out: added, which is when the device joined.',
)
const descending = param('descending', z.boolean().optional(), 'true or false', 'The other way round.')

/** Which devices a list, an export or a selection is about. */
const filter = [search, state, tag, service, ofVersion, need] as const
export const deviceFilter = z.strictObject({
  search: search.schema,
  state: state.schema,
  tag: tag.schema,
  service: service.schema,
  version: ofVersion.schema,
  need: need.schema,
})
export type DeviceFilter = z.infer<typeof deviceFilter>

const nodeIds = param(
  'nodeIds',
  z.array(z.string().regex(nodeIdPattern)).min(1).max(maxBulkDevices),
  `a list of 1 to ${maxBulkDevices} node IDs`,
  'Devices.',
)
const someTags = <const Name extends string>(name: Name, description: string) =>
  param(
    name,
    z.array(records.deviceTag).max(maxDeviceTags),
    `a list of at most ${maxDeviceTags} tags`,
    description,
  )

export const devicesMethods = {
  'device.list': method({
    name: 'device.list',
    summary: 'Devices of the account, a page of them, and where they are.',
    params: [page, ...filter, sort, descending],
    result: z.object({
      devices: z.array(records.device),
      total: z.number().int().describe('How many devices fit'),
      /** How many devices of the search are in each state. */
      counts: z.object({ online: z.number().int(), away: z.number().int(), blocked: z.number().int() }),
      pageSize: z.number().int(),
      /** The moment for which the states are right, and seconds for which a device is online after it was last seen. */
      at: isoTime,
      onlineSeconds: z.number(),
      /** Whether the discovery service answered. If it did not, no device has a location. */
      hasPlaces: z.boolean(),
    }),
    reasons: ['busy'],
    access: any,
  }),
  'device.facets': method({
    name: 'device.facets',
    summary: 'Tags, services and versions that devices of the account have, and how many have each.',
    description: 'At most 100 of each kind, the most frequent ones. Counts may be some seconds old.',
    params: [],
    result: records.deviceFacets,
    reasons: [],
    access: any,
  }),
  'device.attention': method({
    name: 'device.attention',
    summary: 'How many devices of the account are away, or need a person for something else.',
    params: [],
    result: records.deviceAttention,
    reasons: [],
    access: any,
  }),
  'device.history': method({
    name: 'device.history',
    summary: 'What happened to a device, and what people did to it; newest first.',
    description:
      'At most 100 events and 100 changes. What it stated to an account that it left is not shown to another one.',
    params: [nodeId],
    result: z.array(records.deviceHistoryEntry),
    reasons: ['not_found'],
    access: any,
  }),
  'device.get': method({
    name: 'device.get',
    summary: 'One device of the account, its location, and what it states about itself.',
    params: [nodeId],
    result: z.object({
      device: records.device,
      hasPlaces: z.boolean(),
      /** As the device states them; null if it does not. */
      vitals: records.vitals.nullable(),
    }),
    reasons: ['not_found'],
    access: any,
  }),
  'device.track': method({
    name: 'device.track',
    summary: 'Where a device was, while its owner has its track stored.',
    params: [nodeId],
    result: z.object({
      points: z
        .array(z.tuple([z.number(), z.number(), z.number()]))
        .describe('Longitude, latitude, Unix milliseconds; oldest first, the last 2000'),
      until: isoTime.nullable().describe('When the track expires; null if it is not stored'),
    }),
    reasons: ['not_found'],
    access: any,
  }),
  'map.background': method({
    name: 'map.background',
    summary: 'What the operator set as background of the map.',
    params: [],
    result: z.object({
      style: z
        .string()
        .describe('URL of a MapLibre style, or of tiles with {z}, {x} and {y}; empty without one'),
      hosts: z.array(z.string()).describe('Origins that it may load from'),
    }),
    reasons: [],
    access: any,
  }),
  'device.label': method({
    name: 'device.label',
    summary: 'Names a device and tags it, for the people of the account. The device does not learn of it.',
    params: [
      nodeId,
      param(
        'label',
        z.string().trim().max(60),
        'a text of at most 60 characters',
        'Name; "" for the one that the device states.',
      ),
      someTags('tags', 'Words, or key:value.'),
    ],
    result: done,
    reasons: ['not_found', 'limit_exceeded'],
    access: any,
  }),
  'device.block': method({
    name: 'device.block',
    summary: 'Blocks a device: every token for it is revoked, and it gets no more.',
    params: [nodeId],
    result: done,
    reasons: ['not_found'],
    access: owner,
  }),
  'device.unblock': method({
    name: 'device.unblock',
    summary: 'Unblocks a device.',
    params: [nodeId],
    result: done,
    reasons: ['not_found'],
    access: owner,
  }),
  'device.revoke': method({
    name: 'device.revoke',
    summary: 'Revokes every token for a device that was issued until now.',
    params: [nodeId],
    result: done,
    reasons: ['not_found'],
    access: any,
  }),
  'device.disassociate': method({
    name: 'device.disassociate',
    summary:
      'Removes the account from a device: at once in the registry, and on the device when it connects.',
    params: [nodeId],
    result: done,
    reasons: ['not_found'],
    access: owner,
  }),
  'devices.tag': method({
    name: 'devices.tag',
    summary: 'Adds tags to devices and removes tags from them.',
    params: [nodeIds, someTags('add', 'Tags to add.'), someTags('remove', 'Tags to remove.')],
    result: records.bulkResult,
    reasons: ['busy'],
    access: any,
  }),
  'devices.revoke': method({
    name: 'devices.revoke',
    summary: 'Revokes every token for each of some devices that was issued until now.',
    params: [nodeIds],
    result: records.bulkResult,
    reasons: ['busy'],
    access: any,
  }),
  'devices.block': method({
    name: 'devices.block',
    summary: 'Blocks devices.',
    params: [nodeIds],
    result: records.bulkResult,
    reasons: ['busy'],
    access: owner,
  }),
  'devices.unblock': method({
    name: 'devices.unblock',
    summary: 'Unblocks devices.',
    params: [nodeIds],
    result: records.bulkResult,
    reasons: ['busy'],
    access: owner,
  }),
} as const
