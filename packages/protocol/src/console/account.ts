/** The account and its people. */
import * as z from 'zod'
import { method, param } from '../methods/method.ts'
import { isoTime } from '../methods/values.ts'
import { any, done, id, owner, recentOwner } from './params.ts'
import * as records from './records.ts'

export const accountMethods = {
  'member.list': method({
    name: 'member.list',
    summary: 'People of the account.',
    params: [],
    result: z.array(records.member),
    reasons: [],
    access: any,
  }),
  'member.invite': method({
    name: 'member.invite',
    summary:
      'Creates a link with which one person joins the account. It expires after seven days, or when its creator is no longer an owner.',
    params: [param('role', records.role, 'owner or member', 'Role that the person gets.')],
    result: z.object({ link: z.string(), expiresAt: isoTime }),
    reasons: ['limit_exceeded'],
    access: recentOwner,
  }),
  'invitation.list': method({
    name: 'invitation.list',
    summary: 'Invitations to the account that can still be used.',
    params: [],
    result: z.array(records.invitation),
    reasons: [],
    access: owner,
  }),
  'invitation.revoke': method({
    name: 'invitation.revoke',
    summary: 'Revokes an invitation before it is used.',
    params: [id('linkId', 'Invitation.')],
    result: done,
    reasons: ['not_found'],
    access: owner,
  }),
  'member.set_role': method({
    name: 'member.set_role',
    summary: 'Changes the role of a member.',
    params: [id('personId', 'Member.'), param('role', records.role, 'owner or member', 'New role.')],
    result: done,
    reasons: ['not_found', 'conflict'],
    access: recentOwner,
  }),
  'member.remove': method({
    name: 'member.remove',
    summary:
      'Removes a member from the account, and revokes the developer ID tokens, sign-ins and sessions that the member has for it.',
    params: [id('personId', 'Member.')],
    result: done,
    reasons: ['not_found', 'conflict'],
    access: recentOwner,
  }),
  'account.revoke_all': method({
    name: 'account.revoke_all',
    summary:
      'Revokes every token of the account: developer ID tokens, and the access tokens that were issued with them.',
    params: [],
    result: done,
    reasons: [],
    access: recentOwner,
  }),
  'audit.list': method({
    name: 'audit.list',
    summary: 'The audit log of the account, newest first.',
    params: [
      param('before', z.string().max(64).nullable(), 'an id or null', 'Entries before this one.'),
      param(
        'action',
        z
          .string()
          .max(64)
          .regex(/^[a-z_.]*$/)
          .optional(),
        'an action, or its beginning',
        'Only such actions, as device. or device.block; left out: all.',
      ),
      param(
        'search',
        z.string().min(1).max(64).optional(),
        'a text of 1 to 64 characters',
        'Part of who, of the target or of the detail; left out: all.',
      ),
      param('outcome', z.enum(['ok', 'refused']).optional(), 'ok or refused', 'Only these; left out: all.'),
    ],
    result: z.array(records.auditRecord),
    reasons: ['busy'],
    access: any,
  }),
} as const
