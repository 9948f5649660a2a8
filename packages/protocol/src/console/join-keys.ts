/** Join keys of an account, and the devices that wait for its approval. */
import * as z from 'zod'
import { method, param } from '../methods/method.ts'
import { isoTime, nodeIdPattern } from '../methods/values.ts'
import { joinLimits, joinNamePattern } from '../tokens/join.ts'
import { maxBulkDevices, maxDeviceTags } from './limits.ts'
import { id, owner, recentOwner } from './params.ts'
import { bulkResult, deviceTag } from './records.ts'

/** Why devices cannot join by a key any more. */
const joinKeyEndings = ['revoked', 'expired', 'maker', 'project', 'used_up'] as const

const joinKey = z.object({
  keyId: z.string(),
  title: z.string(),
  /** Template of the names of its devices; "" without one. */
  name: z.string(),
  tags: z.array(z.string()),
  /** Client ID of the project that it ends with; null without one. */
  project: z.string().nullable(),
  /** Devices that may use it, that have used it, and that wait for an approval. */
  uses: z.number().int(),
  used: z.number().int(),
  waiting: z.number().int(),
  /** Whether an owner has to approve each device. */
  approve: z.boolean(),
  /** E-mail address of the owner who made it. */
  madeBy: z.string(),
  createdAt: isoTime,
  expiresAt: isoTime,
  /** Null while devices may join by it. */
  ending: z.enum(joinKeyEndings).nullable(),
})
export type ShownJoinKey = z.infer<typeof joinKey>
export type JoinKeyEnding = (typeof joinKeyEndings)[number]

const waitingDevice = z.object({
  nodeId: z.string(),
  /** The beginning of the node ID, to compare with what the device shows. */
  fingerprint: z.string(),
  /** As the device states them, and not proved. `serial`: "" without a usable one. */
  name: z.string(),
  serial: z.string(),
  version: z.string(),
  /** Network address of its first request. */
  address: z.string(),
  since: isoTime,
  lastSeenAt: isoTime,
  keyId: z.string(),
  keyTitle: z.string(),
})
export type WaitingDevice = z.infer<typeof waitingDevice>

const joinRules = z.object({
  /** Whether each device that joins waits for an approval, whatever its key states. */
  approve: z.boolean(),
})

const nodeIds = param(
  'nodeIds',
  z.array(z.string().regex(nodeIdPattern)).min(1).max(maxBulkDevices),
  `a list of 1 to ${maxBulkDevices} node IDs`,
  'Devices that wait.',
)

export const joinKeysMethods = {
  'join_key.create': method({
    name: 'join_key.create',
    summary: 'Makes a join key, by which new devices join the account without a person. It is returned once.',
    description:
      'It ends when it expires, is revoked or used up, when its maker is no owner any more, and with its project.',
    params: [
      param(
        'title',
        z.string().trim().max(joinLimits.titleCharacters),
        `a text of at most ${joinLimits.titleCharacters} characters`,
        'For the list of join keys; may be empty.',
      ),
      param(
        'name',
        z.string().trim().max(joinLimits.nameCharacters).regex(joinNamePattern),
        `a text of at most ${joinLimits.nameCharacters} characters, with braces only around serial and nodeId`,
        'Name of the devices, with {serial} and {nodeId} for the serial number that the device states and the beginning of its node ID; "" for the name that the device states.',
      ),
      param(
        'tags',
        z.array(deviceTag).max(maxDeviceTags),
        `a list of at most ${maxDeviceTags} tags`,
        'Tags of the devices.',
      ),
      param(
        'uses',
        z.number().int().min(1).max(joinLimits.uses),
        `a whole number from 1 to ${joinLimits.uses}`,
        'How many devices may join by it.',
      ),
      param(
        'until',
        isoTime,
        `a time within ${joinLimits.days} days, as ISO 8601 in UTC`,
        'When it expires.',
      ),
      param('approve', z.boolean(), 'true or false', 'Whether an owner has to approve each device.'),
      param(
        'project',
        z.string().min(1).max(64).nullable(),
        'the client ID of a project, or null',
        'Project of the account that the key ends with; null: none.',
      ),
    ],
    result: z.object({ key: z.string(), joinKey }),
    reasons: ['not_found', 'invalid_params', 'limit_exceeded', 'conflict'],
    access: recentOwner,
  }),
  'join_key.list': method({
    name: 'join_key.list',
    summary: 'The join keys of the account, without their secrets.',
    description: 'A key is listed for 90 days after it has expired.',
    params: [],
    result: z.array(joinKey),
    reasons: [],
    access: owner,
  }),
  'join_key.revoke': method({
    name: 'join_key.revoke',
    summary: 'Revokes a join key at once. Devices that wait for an approval by it are refused.',
    params: [
      id('keyId', 'Join key.'),
      param(
        'devices',
        z.boolean(),
        'true or false',
        'Whether all devices that joined by it are blocked, too; more than 100 in the background.',
      ),
    ],
    result: z.object({
      /** Devices that were blocked, and that are still to be blocked. */
      blocked: z.number().int(),
      toBlock: z.number().int(),
    }),
    reasons: ['not_found'],
    access: owner,
  }),
  'join.waiting': method({
    name: 'join.waiting',
    summary: 'Devices that wait until an owner approves them, the oldest first.',
    params: [],
    result: z.array(waitingDevice),
    reasons: [],
    access: owner,
  }),
  'join.rules': method({
    name: 'join.rules',
    summary: 'What the account decides about all its join keys.',
    params: [],
    result: joinRules,
    reasons: [],
    access: owner,
  }),
  'join.set_rules': method({
    name: 'join.set_rules',
    summary: 'Changes what the account decides about all its join keys.',
    params: [
      param(
        'approve',
        z.boolean(),
        'true or false',
        'Whether an owner has to approve each device that joins, whatever its key states.',
      ),
    ],
    result: joinRules,
    reasons: [],
    access: recentOwner,
  }),
  'join.approve': method({
    name: 'join.approve',
    summary: 'Approves devices that wait. Each joins the account with its next request.',
    params: [nodeIds],
    result: bulkResult,
    reasons: [],
    access: owner,
  }),
  'join.refuse': method({
    name: 'join.refuse',
    summary: 'Refuses devices that wait. A refused device cannot join by the same key again.',
    params: [nodeIds],
    result: bulkResult,
    reasons: [],
    access: owner,
  }),
} as const

export type JoinKeysMethods = typeof joinKeysMethods
