/** What an account shares with people of other accounts, and its groups of people. */
import * as z from 'zod'
import { method, param } from '../methods/method.ts'
import { isoTime, nodeIdPattern } from '../methods/values.ts'
import { groupNamePattern, userLimits } from '../tokens/users.ts'
import { done, id, owner } from './params.ts'

const nodeId = param(
  'nodeId',
  z.string().regex(nodeIdPattern),
  'a node ID: 56 lower-case hexadecimal characters',
  'Device of the account.',
)
const groupId = id('groupId', 'Group.')
const person = param(
  'person',
  z.string().min(1).max(userLimits.nameCharacters),
  'an e-mail address that the account knows, or the ID of a person',
  'E-mail address of a member, or of a person who signed in to an app of the account; or the ID of a person.',
)

/** A service that is shared with a person or a group. */
const serviceShare = z.object({
  shareId: z.string(),
  nodeId: z.string(),
  clientId: z.string(),
  service: z.string(),
  /** E-mail address if the account knows it, or the ID of the person; or the name of the group. */
  with: z.string(),
  kind: z.enum(['person', 'group']),
  until: isoTime,
  /** E-mail address of the owner who made it. */
  madeBy: z.string(),
  createdAt: isoTime,
})
export type ServiceShare = z.infer<typeof serviceShare>

const personGroup = z.object({
  groupId: z.string(),
  name: z.string(),
  createdAt: isoTime,
  people: z.array(z.object({ personId: z.string(), email: z.string() })),
})

export const sharesMethods = {
  'share.list': method({
    name: 'share.list',
    summary: 'The services that the account shares, or those of one device.',
    params: [
      param(
        'nodeId',
        z.string().regex(nodeIdPattern).nullable(),
        'a node ID, or null',
        'Device of the account; null: all.',
      ),
    ],
    result: z.array(serviceShare),
    reasons: ['not_found'],
    access: owner,
  }),
  'share.add': method({
    name: 'share.add',
    summary: 'Lets a person or a group call one service of a device until a time.',
    description:
      'The service needs MCM.ACCESS "users". The share ends before that time when it is removed, its maker is no owner any more, the device leaves the account, or the project is turned off or deleted.',
    params: [
      nodeId,
      param('service', z.string().min(1).max(256), 'a name or an ID', 'Name or ID of the service.'),
      param(
        'with',
        z.string().min(1).max(userLimits.nameCharacters),
        'an e-mail address, the ID of a person, or the name of a group',
        'Who may call it.',
      ),
      param(
        'until',
        isoTime,
        `a time within ${userLimits.shareDays} days, as ISO 8601 in UTC`,
        'When the share ends.',
      ),
    ],
    result: serviceShare,
    reasons: ['not_found', 'invalid_params', 'conflict', 'limit_exceeded'],
    access: owner,
  }),
  'share.remove': method({
    name: 'share.remove',
    summary: 'Ends a share, also in tokens and leases that were issued.',
    params: [id('shareId', 'Share.')],
    result: done,
    reasons: ['not_found'],
    access: owner,
  }),
  'group.list': method({
    name: 'group.list',
    summary: 'The groups of people of the account.',
    params: [],
    result: z.array(personGroup),
    reasons: [],
    access: owner,
  }),
  'group.create': method({
    name: 'group.create',
    summary: 'Creates a group of people.',
    params: [
      param(
        'name',
        z.string().regex(groupNamePattern),
        '1 to 32 lower-case letters, digits and . _ -',
        'Name of the group, as services see it. It cannot be changed.',
      ),
    ],
    result: personGroup,
    reasons: ['already_exists', 'limit_exceeded'],
    access: owner,
  }),
  'group.delete': method({
    name: 'group.delete',
    summary: 'Deletes a group with its shares. A later group of the same name has nothing of it.',
    params: [groupId],
    result: done,
    reasons: ['not_found'],
    access: owner,
  }),
  'group.add_person': method({
    name: 'group.add_person',
    summary: 'Adds a person to a group.',
    params: [groupId, person],
    result: done,
    reasons: ['not_found', 'limit_exceeded'],
    access: owner,
  }),
  'group.remove_person': method({
    name: 'group.remove_person',
    summary: 'Removes a person from a group, also in tokens and leases that were issued.',
    params: [groupId, id('personId', 'Person.')],
    result: done,
    reasons: ['not_found'],
    access: owner,
  }),
} as const

export type SharesMethods = typeof sharesMethods
