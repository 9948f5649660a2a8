/** The issuers that a project of the account trusts. */
import * as z from 'zod'
import { method, param } from '../methods/method.ts'
import { issuerSettings, issuerUrl, subject, testedToken, trustedIssuer } from '../methods/trust-params.ts'
import { any, clientId, done, id, recentOwner } from './params.ts'

const issuerId = id('issuerId', 'Rule.')

export const issuersMethods = {
  'issuer.list': method({
    name: 'issuer.list',
    summary:
      'The issuers that a project trusts, with the state of their keys and the subjects of accepted tokens.',
    params: [clientId],
    result: z.array(trustedIssuer),
    reasons: ['not_found'],
    access: any,
  }),
  'issuer.add': method({
    name: 'issuer.add',
    summary: 'Adds a rule by which a project trusts ID tokens of an issuer.',
    description: 'Only the operator can trust an issuer in a private network.',
    params: [clientId, issuerUrl, ...issuerSettings],
    result: trustedIssuer,
    reasons: ['not_found', 'already_exists', 'limit_exceeded'],
    access: recentOwner,
  }),
  'issuer.remove': method({
    name: 'issuer.remove',
    summary: 'Removes a rule, and revokes everything that was issued by it.',
    params: [clientId, issuerId],
    result: done,
    reasons: ['not_found'],
    access: recentOwner,
  }),
  'issuer.revoke': method({
    name: 'issuer.revoke',
    summary: 'Revokes everything that was issued by a rule until now, or for one subject. The rule stays.',
    params: [
      clientId,
      issuerId,
      param('subject', subject.schema.nullable(), `${subject.expected}, or null`, 'The "sub"; null: all.'),
    ],
    result: done,
    reasons: ['not_found'],
    access: recentOwner,
  }),
  'issuer.test': method({
    name: 'issuer.test',
    summary: 'Runs every check of a rule on an ID token and reports which one fails. Nothing is issued.',
    params: [
      clientId,
      issuerId,
      param('token', z.string().min(1).max(8192), 'a JWT of at most 8192 characters', 'The ID token.'),
    ],
    result: testedToken,
    reasons: ['not_found'],
    access: recentOwner,
  }),
  'issuer.link': method({
    name: 'issuer.link',
    summary: 'Links a subject of a rule for people to a person of the account.',
    params: [clientId, issuerId, subject, id('personId', 'Person.')],
    result: done,
    reasons: ['not_found', 'already_exists', 'conflict', 'limit_exceeded'],
    access: recentOwner,
  }),
  'issuer.unlink': method({
    name: 'issuer.unlink',
    summary: 'Ends the link of a subject to a person, and revokes everything that was issued for it.',
    params: [clientId, issuerId, subject],
    result: done,
    reasons: ['not_found'],
    access: recentOwner,
  }),
} as const
