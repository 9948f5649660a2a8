/** The issuers that projects trust, for the operator. */
import * as z from 'zod'
import { method, param } from '../methods/method.ts'
import { issuerSettings, issuerUrl, subject, testedToken, trustedIssuer } from '../methods/trust-params.ts'

const access = { caller: 'operator' } as const
const clientId = param('clientId', z.uuid(), 'a client ID (UUID)', 'Client ID of the project.')
const ofProject = param(
  'clientId',
  z.uuid().nullable(),
  'a client ID (UUID) or null',
  'Client ID of the project; null: every project.',
)
const which = param(
  'issuer',
  z.string().min(1).max(255),
  'the ID of a rule, or the URL of an issuer',
  'ID of a rule, or URL of an issuer for all its rules.',
)
const changed = z.object({ issuerIds: z.array(z.string()) })

export const issuersMethods = {
  'issuer.add': method({
    name: 'issuer.add',
    summary: 'Adds a rule by which a project trusts ID tokens of an issuer.',
    params: [
      clientId,
      issuerUrl,
      ...issuerSettings,
      param(
        'allowsPrivate',
        z.boolean(),
        'true or false',
        'Whether the issuer may be on this machine or in a private network.',
      ),
    ],
    result: trustedIssuer,
    reasons: ['not_found', 'already_exists', 'conflict', 'limit_exceeded'],
    access,
  }),
  'issuer.list': method({
    name: 'issuer.list',
    summary:
      'The issuers that projects trust, with the state of their keys and the subjects of accepted tokens.',
    params: [ofProject],
    result: z.array(trustedIssuer),
    reasons: [],
    access,
  }),
  'issuer.remove': method({
    name: 'issuer.remove',
    summary: 'Removes rules, and revokes everything that was issued by them.',
    params: [which, ofProject],
    result: changed,
    reasons: ['not_found'],
    access,
  }),
  'issuer.revoke': method({
    name: 'issuer.revoke',
    summary: 'Revokes everything that was issued by rules until now, or for one subject. The rules stay.',
    params: [
      which,
      ofProject,
      param('subject', subject.schema.nullable(), `${subject.expected}, or null`, 'The "sub"; null: all.'),
    ],
    result: changed,
    reasons: ['not_found'],
    access,
  }),
  'issuer.test': method({
    name: 'issuer.test',
    summary: 'Runs every check on an ID token and reports which one fails. Nothing is issued.',
    params: [
      which,
      ofProject,
      param('token', z.string().min(1).max(8192), 'a JWT of at most 8192 characters', 'The ID token.'),
    ],
    result: testedToken,
    reasons: ['not_found'],
    access,
  }),
  'issuer.link': method({
    name: 'issuer.link',
    summary: 'Links a subject of rules for people to a person of the account.',
    params: [
      which,
      ofProject,
      subject,
      param(
        'email',
        z.email().max(254).toLowerCase(),
        'an e-mail address',
        'E-mail address with which the person signs in here.',
      ),
    ],
    result: changed,
    reasons: ['not_found', 'already_exists', 'conflict', 'limit_exceeded'],
    access,
  }),
  'issuer.unlink': method({
    name: 'issuer.unlink',
    summary: 'Ends the link of a subject to a person, and revokes everything that was issued for it.',
    params: [which, ofProject, subject],
    result: changed,
    reasons: ['not_found'],
    access,
  }),
} as const
