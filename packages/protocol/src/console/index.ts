/**
 * The console's own API, served by the identity service to its own pages: JSON-RPC, declared like the local API. A session
 * cookie says who calls.
 */
import * as z from 'zod'
import { type InputOf, method, param } from '../methods/method.ts'
import { isoTime, nodeIdPattern } from '../methods/values.ts'
import { scopeNames } from '../tokens/scopes.ts'
import * as records from './records.ts'

export * from './records.ts'

const text = <const Name extends string>(name: Name, longest: number, description: string) =>
  param(name, z.string().min(1).max(longest), `a text of 1 to ${longest} characters`, description)
const id = <const Name extends string>(name: Name, description: string) =>
  param(name, z.string().min(1).max(512), 'an identifier', description)
const email = param(
  'email',
  z.email().max(254).toLowerCase(),
  'an e-mail address',
  'E-mail address of the person.',
)
const password = param(
  'password',
  z.string().max(1024),
  'a text of at most 1024 characters',
  'Password; the rules are told where it is not accepted.',
)
const nodeId = param('nodeId', z.string().regex(nodeIdPattern), 'a node ID', 'Device.')
const clientId = id('clientId', 'Client ID of the project.')
const link = param(
  'link',
  z.string().min(20).max(100),
  'the secret of a link',
  'What follows the # of the link.',
)
const credential = param(
  'response',
  z.record(z.string(), z.unknown()),
  'what the browser made of the challenge',
  'The credential, as WebAuthn in JSON has it.',
)
const options = z.object({ challenge: z.string(), options: z.record(z.string(), z.unknown()) })
const challenge = id('challenge', 'The challenge that was given.')
const done = z.object({ done: z.literal(true) })

const projectSettings = [
  param('name', z.string().trim().min(1).max(100), 'a name of 1 to 100 characters', 'Name of the project.'),
  param('scopes', z.array(z.enum(scopeNames)), `a list of ${scopeNames.join(', ')}`, 'Allowed scopes.'),
  param(
    'resources',
    z.array(z.string().min(1).max(255)).max(20),
    'a list of at most 20 URIs',
    'Resources that tokens may be asked for (RFC 8707).',
  ),
  param(
    'accessLifetime',
    z.number().int().min(60).max(86_400),
    'seconds from 60 to 86400',
    'Life of an access token in seconds.',
  ),
  param(
    'developerLifetime',
    z.number().int().min(3600).max(31_536_000),
    'seconds from 3600 to 31536000',
    'Life of a developer ID token in seconds.',
  ),
  param(
    'dpop',
    records.dpopPolicy,
    'off, optional or required',
    'Whether tokens are bound to a key (RFC 9449).',
  ),
] as const

const any = { session: 'any' } as const
const recent = { session: 'recent' } as const
const owner = { session: 'any', role: 'owner' } as const
const recentOwner = { session: 'recent', role: 'owner' } as const

export const consoleMethods = {
  'session.get': method({
    name: 'session.get',
    summary: 'Who looks at the page; null where nobody is signed in.',
    params: [],
    result: z.object({
      viewer: records.viewer.nullable(),
      /** Whether nobody can sign in yet: the installation waits for its owner. */
      needsOwner: z.boolean(),
      identityUrl: z.string(),
    }),
    reasons: [],
    access: {},
  }),
  'session.end': method({
    name: 'session.end',
    summary: 'Signs out.',
    params: [],
    result: done,
    reasons: [],
    access: {},
  }),
  'session.list': method({
    name: 'session.list',
    summary: 'Where the person is signed in.',
    params: [],
    result: z.array(records.session),
    reasons: [],
    access: any,
  }),
  'session.revoke': method({
    name: 'session.revoke',
    summary: 'Signs a session out.',
    params: [id('sessionId', 'Session.')],
    result: done,
    reasons: ['not_found'],
    access: any,
  }),
  'session.switch': method({
    name: 'session.switch',
    summary: 'Looks at another account of the person.',
    params: [id('accountId', 'Account.')],
    result: done,
    reasons: ['not_found'],
    access: any,
  }),

  'sign_in.passkey.begin': method({
    name: 'sign_in.passkey.begin',
    summary: 'A challenge for any passkey of this service.',
    params: [],
    result: options,
    reasons: [],
    access: {},
  }),
  'sign_in.passkey.finish': method({
    name: 'sign_in.passkey.finish',
    summary: 'Signs in with the passkey that answered the challenge.',
    params: [challenge, credential],
    result: done,
    reasons: ['credentials_invalid'],
    access: {},
  }),
  'sign_in.password': method({
    name: 'sign_in.password',
    summary: 'Signs in with a password. Unknown addresses are answered like wrong passwords, and as slowly.',
    params: [email, password],
    result: done,
    reasons: ['credentials_invalid', 'busy'],
    access: {},
  }),
  'sign_in.recovery': method({
    name: 'sign_in.recovery',
    summary: 'Signs in with a recovery code, which is used up.',
    params: [email, text('code', 64, 'Recovery code.')],
    result: done,
    reasons: ['credentials_invalid', 'busy'],
    access: {},
  }),
  'link.look': method({
    name: 'link.look',
    summary: 'What a link is for, without using it up.',
    params: [link],
    result: z.object({
      purpose: z.enum(['setup', 'invitation', 'reset']),
      /** The address that it is for; null where the person gives one. */
      email: z.string().nullable(),
      accountName: z.string().nullable(),
    }),
    reasons: ['credentials_invalid'],
    access: {},
  }),
  'link.use': method({
    name: 'link.use',
    summary:
      'Uses a link up, and signs in whom it is for: the first owner, somebody invited, or somebody locked out.',
    params: [link, email],
    result: done,
    reasons: ['credentials_invalid', 'conflict'],
    access: {},
  }),

  'passkey.begin': method({
    name: 'passkey.begin',
    summary: 'A challenge for a new passkey of the person.',
    params: [],
    result: options,
    reasons: [],
    access: recent,
  }),
  'passkey.finish': method({
    name: 'passkey.finish',
    summary: 'Adds the passkey that answered the challenge.',
    params: [
      challenge,
      credential,
      text('name', 60, 'Name of the passkey, for the person to know it again.'),
    ],
    result: done,
    reasons: ['credentials_invalid', 'already_exists'],
    access: recent,
  }),
  'passkey.list': method({
    name: 'passkey.list',
    summary: 'Passkeys of the person.',
    params: [],
    result: z.array(records.passkey),
    reasons: [],
    access: any,
  }),
  'passkey.remove': method({
    name: 'passkey.remove',
    summary: 'Removes a passkey. The last way in can’t be removed.',
    params: [id('credentialId', 'Passkey.')],
    result: done,
    reasons: ['not_found', 'conflict'],
    access: recent,
  }),
  'password.set': method({
    name: 'password.set',
    summary: 'Sets the password of the person, and signs out every other session.',
    params: [password],
    result: done,
    reasons: [],
    access: recent,
  }),
  'recovery.create': method({
    name: 'recovery.create',
    summary: 'Makes ten recovery codes, shown once. Codes made before are not good any more.',
    params: [],
    result: z.object({ codes: z.array(z.string()) }),
    reasons: [],
    access: recent,
  }),

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
    summary: 'Makes a link with which one person joins the account; good for seven days.',
    params: [param('role', records.role, 'owner or member', 'Role that the person gets.')],
    result: z.object({ link: z.string(), expiresAt: isoTime }),
    reasons: [],
    access: recentOwner,
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
    summary: 'Takes a member out of the account, with the developer ID tokens, sign-ins and sessions for it.',
    params: [id('personId', 'Member.')],
    result: done,
    reasons: ['not_found', 'conflict'],
    access: recentOwner,
  }),
  'account.revoke_all': method({
    name: 'account.revoke_all',
    summary:
      'Revokes every token of the account: those of developers, and the access tokens that came of them.',
    params: [],
    result: done,
    reasons: [],
    access: recentOwner,
  }),
  'audit.list': method({
    name: 'audit.list',
    summary: 'The audit log of the account, newest first.',
    params: [param('before', z.string().max(64).nullable(), 'an id or null', 'Entries before this one.')],
    result: z.array(records.auditRecord),
    reasons: [],
    access: any,
  }),

  'project.list': method({
    name: 'project.list',
    summary: 'Projects of the account.',
    params: [],
    result: z.array(records.project),
    reasons: [],
    access: any,
  }),
  'project.create': method({
    name: 'project.create',
    summary: 'Makes a project.',
    params: projectSettings,
    result: records.project,
    reasons: [],
    access: any,
  }),
  'project.update': method({
    name: 'project.update',
    summary: 'Changes a project.',
    params: [clientId, ...projectSettings],
    result: records.project,
    reasons: ['not_found'],
    access: any,
  }),
  'project.dependents': method({
    name: 'project.dependents',
    summary: 'What would go with a project.',
    params: [clientId],
    result: records.dependents,
    reasons: ['not_found'],
    access: any,
  }),
  'project.delete': method({
    name: 'project.delete',
    summary: 'Deletes a project, and revokes every token of it.',
    params: [clientId],
    result: done,
    reasons: ['not_found'],
    access: recentOwner,
  }),

  'token.list': method({
    name: 'token.list',
    summary: 'Developer ID tokens of the account, without the tokens themselves.',
    params: [],
    result: z.array(records.developerToken),
    reasons: [],
    access: any,
  }),
  'token.create': method({
    name: 'token.create',
    summary: 'Makes a developer ID token for a project. It is shown once.',
    params: [clientId],
    result: z.object({ idToken: z.string(), jti: z.string(), expiresAt: isoTime }),
    reasons: ['not_found', 'conflict'],
    access: recent,
  }),
  'token.revoke': method({
    name: 'token.revoke',
    summary: 'Revokes a developer ID token, and the access tokens that came of it.',
    params: [id('jti', 'Token.')],
    result: done,
    reasons: ['not_found'],
    access: any,
  }),
  'sign_in.list': method({
    name: 'sign_in.list',
    summary: 'Sign-ins from terminals and devices that last.',
    params: [],
    result: z.array(records.signIn),
    reasons: [],
    access: any,
  }),
  'sign_in.revoke': method({
    name: 'sign_in.revoke',
    summary: 'Revokes a sign-in, and the access tokens that came of it.',
    params: [id('sid', 'Sign-in.')],
    result: done,
    reasons: ['not_found'],
    access: any,
  }),
  'device_request.find': method({
    name: 'device_request.find',
    summary: 'The sign-in from a terminal that a code belongs to.',
    params: [text('userCode', 32, 'Code that the terminal shows.')],
    result: records.deviceRequest,
    reasons: ['not_found', 'busy'],
    access: any,
  }),
  'device_request.decide': method({
    name: 'device_request.decide',
    summary: 'Approves or refuses a sign-in from a terminal.',
    params: [
      text('userCode', 32, 'Code that the terminal shows.'),
      param('approve', z.boolean(), 'true or false', 'Whether the terminal may sign in.'),
    ],
    result: done,
    reasons: ['not_found', 'busy'],
    access: recent,
  }),

  'device.list': method({
    name: 'device.list',
    summary: 'Devices of the account, and where they are.',
    params: [],
    result: z.object({
      devices: z.array(records.device),
      /** Whether the discovery service answered; where not, no device has a place. */
      hasPlaces: z.boolean(),
    }),
    reasons: [],
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
    summary: 'Takes the block of a device away.',
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
      'Removes the account from a device: at once in the registry, on the device as soon as it is reached.',
    params: [nodeId],
    result: done,
    reasons: ['not_found'],
    access: owner,
  }),
} as const

export type ConsoleMethods = typeof consoleMethods
export type ConsoleMethodName = keyof ConsoleMethods
export type ConsoleInput<Name extends ConsoleMethodName> = InputOf<ConsoleMethods[Name]>
