/** The operator's API of the identity service, served on its Unix socket only. Declared like the local API. */
import * as z from 'zod'
import { appAudiences, appLimits, appTypes } from '../http/identity.ts'
import { type InputOf, method, param } from '../methods/method.ts'
import { isoTime, nodeId } from '../methods/values.ts'
import { leaseDays, leaseScopes } from '../tokens/leases.ts'
import { appIdAlgorithms } from '../tokens/profiles.ts'
import { scopeNames } from '../tokens/scopes.ts'
import { companiesMethods } from './companies.ts'
import { issuersMethods } from './issuers.ts'

const email = param(
  'email',
  z.email().max(254).toLowerCase(),
  'an e-mail address',
  'E-mail address of the account.',
)
const clientId = param('clientId', z.uuid(), 'a client ID (UUID)', 'Client ID of the project.')
const tokenId = param(
  'jti',
  z.string().min(1).max(64),
  'the jti of a developer ID token',
  'Identifier of the token.',
)

const accountEmail = param(
  'email',
  z.email().max(254).toLowerCase().nullable(),
  'an e-mail address or null',
  'E-mail address of the account; null: the only account there is.',
)

const account = z.object({ accountId: z.string(), email: z.string(), createdAt: isoTime })
const project = z.object({
  clientId: z.string(),
  name: z.string(),
  accountId: z.string(),
  scopes: z.array(z.string()),
  resources: z.array(z.string()),
  active: z.boolean(),
  createdAt: isoTime,
  offline: z.object({ maxDays: z.number().int(), scopes: z.array(z.string()) }),
  appType: z.enum(appTypes),
  appUsers: z.enum(appAudiences),
  redirectUris: z.array(z.string()),
  postLogoutRedirectUris: z.array(z.string()),
  origins: z.array(z.string()),
  idTokenSignedResponseAlg: z.enum(appIdAlgorithms),
})
const addresses = z
  .array(z.string().min(1).max(appLimits.characters))
  .max(appLimits.addresses)
  .nullable()
  .optional()
const orNull = `a list of at most ${appLimits.addresses}, or null`
/** How people sign in to the app of a project; null: as it was. */
const appSettings = [
  param(
    'appType',
    z.enum(appTypes).nullable().optional(),
    `one of ${appTypes.join(', ')}, or null`,
    'Kind of app.',
  ),
  param(
    'appUsers',
    z.enum(appAudiences).nullable().optional(),
    `one of ${appAudiences.join(', ')}, or null`,
    'Who may sign in to the app.',
  ),
  param('redirectUris', addresses, orNull, 'Redirect URIs of the app.'),
  param('postLogoutRedirectUris', addresses, orNull, 'Where the browser may go after a logout.'),
  param('origins', addresses, orNull, 'Origins of pages that may call the token endpoint.'),
  param(
    'idTokenSignedResponseAlg',
    z.enum(appIdAlgorithms).nullable().optional(),
    `one of ${appIdAlgorithms.join(', ')}, or null`,
    'Algorithm that ID tokens for the app are signed with.',
  ),
] as const
const developerToken = z.object({
  jti: z.string(),
  accountId: z.string(),
  clientId: z.string(),
  issuedAt: isoTime,
  expiresAt: isoTime,
  revokedAt: isoTime.nullable(),
})
const node = z.object({
  nodeId: z.string(),
  name: z.string(),
  accountId: z.string(),
  enrolledAt: isoTime,
  lastSeenAt: isoTime,
  blockedAt: isoTime.nullable(),
})
const link = z.object({
  linkId: z.string(),
  purpose: z.enum(['setup', 'invitation', 'reset']),
  /** Account that an invitation is for; else "". */
  accountId: z.string(),
  /** E-mail address of the person that the link is for; null if the person chooses one. */
  email: z.string().nullable(),
  madeBy: z.string(),
  createdAt: isoTime,
  expiresAt: isoTime,
})
const signingKey = z.object({
  kid: z.string(),
  alg: z.enum(appIdAlgorithms),
  state: z.enum(['next', 'active', 'retired']),
  since: isoTime,
})

export type { ShownCompany } from '../methods/company-params.ts'
export type { ShownTrustedIssuer } from '../methods/trust-params.ts'

export const adminMethods = {
  ...issuersMethods,
  ...companiesMethods,
  'account.create': method({
    name: 'account.create',
    summary: 'Creates an account.',
    params: [
      email,
      param(
        'knownPerson',
        z.boolean().nullable().optional(),
        'true, false or null',
        'Whether the owner may be a person who already signs in with this address. Ask the person first: an address is no proof.',
      ),
    ],
    result: z.object({ accountId: z.string() }),
    reasons: ['already_exists', 'conflict'],
    access: { caller: 'operator' },
  }),
  'account.list': method({
    name: 'account.list',
    summary: 'Every account.',
    params: [],
    result: z.array(account),
    reasons: [],
    access: { caller: 'operator' },
  }),
  'account.link': method({
    name: 'account.link',
    summary:
      'Creates a link with which a person signs in once, to set a new passkey or password. It is valid for a day.',
    params: [email],
    result: z.object({ link: z.string(), expiresAt: isoTime }),
    reasons: ['not_found', 'limit_exceeded'],
    access: { caller: 'operator' },
  }),
  'account.setup': method({
    name: 'account.setup',
    summary:
      'Creates the link with which the first owner sets up the installation, while no person can sign in. It replaces the one from before, and is valid for a day.',
    params: [],
    result: z.object({ link: z.string(), expiresAt: isoTime }),
    reasons: ['already_exists'],
    access: { caller: 'operator' },
  }),
  'link.list': method({
    name: 'link.list',
    summary: 'Every sign-in link that can still be used.',
    params: [],
    result: z.array(link),
    reasons: [],
    access: { caller: 'operator' },
  }),
  'link.revoke': method({
    name: 'link.revoke',
    summary: 'Revokes a link before it is used.',
    params: [param('linkId', z.string().min(1).max(64), 'the ID of a link', 'ID of the link.')],
    result: z.object({ linkId: z.string() }),
    reasons: ['not_found'],
    access: { caller: 'operator' },
  }),
  'account.revoke': method({
    name: 'account.revoke',
    summary: 'Revokes every token of an account that was issued until now.',
    params: [email],
    result: z.object({ accountId: z.string() }),
    reasons: ['not_found'],
    access: { caller: 'operator' },
  }),
  'project.create': method({
    name: 'project.create',
    summary: 'Creates a project. Its client ID may request the given scopes and resources.',
    params: [
      param('name', z.string().min(1).max(100), 'a name of 1 to 100 characters', 'Name of the project.'),
      accountEmail,
      param(
        'scopes',
        z.array(z.enum(scopeNames)).nullable(),
        `a list of ${scopeNames.join(', ')}, or null`,
        'Allowed scopes; null: all but offline_access.',
      ),
      param(
        'resources',
        z.array(z.string().min(1).max(255)).nullable(),
        'a list of URIs or null',
        'Resources for which clients may request tokens (RFC 8707).',
      ),
      ...appSettings,
    ],
    result: z.object({ clientId: z.string() }),
    reasons: ['not_found', 'conflict', 'limit_exceeded', 'invalid_params'],
    access: { caller: 'operator' },
  }),
  'project.update': method({
    name: 'project.update',
    summary: 'Changes how people sign in to the app of a project.',
    params: [clientId, ...appSettings],
    result: project,
    reasons: ['not_found', 'invalid_params'],
    access: { caller: 'operator' },
  }),
  'project.list': method({
    name: 'project.list',
    summary: 'Every project.',
    params: [],
    result: z.array(project),
    reasons: [],
    access: { caller: 'operator' },
  }),
  'project.offline': method({
    name: 'project.offline',
    summary:
      'Sets for how long clients of a project may work at a device that cannot reach the identity service. Less than before revokes the leases that were issued.',
    params: [
      clientId,
      param(
        'maxDays',
        z.number().int().min(0).max(leaseDays.max),
        `a number of days from 0 to ${leaseDays.max}`,
        'Maximum life of a lease; 0: the project has no leases.',
      ),
      param(
        'scopes',
        z.array(z.enum(leaseScopes)).max(leaseScopes.length),
        `a list of ${leaseScopes.join(', ')}`,
        'Scopes of leases; an empty list: the project has no leases.',
      ),
    ],
    result: project,
    reasons: ['not_found'],
    access: { caller: 'operator' },
  }),
  'project.disable': method({
    name: 'project.disable',
    summary: 'Disables a project: its client ID gets no more tokens.',
    params: [clientId],
    result: z.object({ clientId: z.string() }),
    reasons: ['not_found'],
    access: { caller: 'operator' },
  }),
  'token.developer.create': method({
    name: 'token.developer.create',
    summary: 'Creates a developer ID token of an account for a project. It is shown once.',
    params: [
      accountEmail,
      clientId,
      param(
        'days',
        z.number().int().min(1).max(365).nullable(),
        'a number of days from 1 to 365, or null',
        'Lifetime of the token; null: as configured.',
      ),
    ],
    result: z.object({ idToken: z.string(), jti: z.string(), expiresAt: isoTime }),
    reasons: ['not_found', 'conflict', 'limit_exceeded'],
    access: { caller: 'operator' },
  }),
  'token.developer.list': method({
    name: 'token.developer.list',
    summary: 'Every developer ID token that was issued, without the tokens themselves.',
    params: [],
    result: z.array(developerToken),
    reasons: [],
    access: { caller: 'operator' },
  }),
  'token.developer.revoke': method({
    name: 'token.developer.revoke',
    summary: 'Revokes a developer ID token: it is not accepted by the token endpoint any more.',
    params: [tokenId],
    result: z.object({ jti: z.string(), revokedAt: isoTime }),
    reasons: ['not_found'],
    access: { caller: 'operator' },
  }),
  'node.list': method({
    name: 'node.list',
    summary: 'Every node that ever enrolled.',
    params: [],
    result: z.array(node),
    reasons: [],
    access: { caller: 'operator' },
  }),
  'node.block': method({
    name: 'node.block',
    summary: 'Blocks a node: it gets no edge ID tokens, and no access tokens are made for it.',
    params: [nodeId],
    result: node,
    reasons: ['not_found'],
    access: { caller: 'operator' },
  }),
  'node.unblock': method({
    name: 'node.unblock',
    summary: 'Unblocks a node.',
    params: [nodeId],
    result: node,
    reasons: ['not_found'],
    access: { caller: 'operator' },
  }),
  'enrolment.create': method({
    name: 'enrolment.create',
    summary: 'Creates a one-time enrolment code, valid for a day.',
    params: [],
    result: z.object({ code: z.string(), expiresAt: isoTime }),
    reasons: [],
    access: { caller: 'operator' },
  }),
  'keys.list': method({
    name: 'keys.list',
    summary: 'The signing keys, by state.',
    params: [],
    result: z.array(signingKey),
    reasons: [],
    access: { caller: 'operator' },
  }),
  'keys.rotate': method({
    name: 'keys.rotate',
    summary:
      'Makes the next signing key of each algorithm the active one. Tokens of the old key stay valid until they expire.',
    params: [],
    result: z.array(signingKey),
    reasons: [],
    access: { caller: 'operator' },
  }),
} as const

export type AdminMethods = typeof adminMethods
export type AdminMethodName = keyof AdminMethods
export type AdminInput<Name extends AdminMethodName> = InputOf<AdminMethods[Name]>
