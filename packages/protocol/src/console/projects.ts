/** Projects, developer ID tokens, and sign-ins of terminals. */
import * as z from 'zod'
import { appAudiences, appLimits, appTypes } from '../http/identity.ts'
import { method, param } from '../methods/method.ts'
import { isoTime } from '../methods/values.ts'
import { leaseDays, leaseScopes } from '../tokens/leases.ts'
import { appIdAlgorithms } from '../tokens/profiles.ts'
import { scopeNames } from '../tokens/scopes.ts'
import { any, clientId, done, id, recent, recentOwner, text } from './params.ts'
import * as records from './records.ts'

const addresses = z.array(z.string().min(1).max(appLimits.characters)).max(appLimits.addresses)
const listOf = (what: string) => `a list of at most ${appLimits.addresses} ${what}`

/** How people sign in to the app of a project; absent: as it was, or a web app without addresses. */
const appSettings = [
  param('appType', z.enum(appTypes).optional(), `one of ${appTypes.join(', ')}`, 'What kind of app it is.'),
  param(
    'appUsers',
    z.enum(appAudiences).optional(),
    `one of ${appAudiences.join(', ')}`,
    'Who may sign in: people of the account of the project, or anyone of this installation.',
  ),
  param(
    'redirectUris',
    addresses.optional(),
    listOf('URIs'),
    'Redirect URIs of the app, each exactly as the app sends it.',
  ),
  param(
    'postLogoutRedirectUris',
    addresses.optional(),
    listOf('URIs'),
    'Where the browser may go after a logout.',
  ),
  param(
    'origins',
    addresses.optional(),
    listOf('origins'),
    'Origins of pages that may call the token endpoint.',
  ),
  param(
    'idTokenSignedResponseAlg',
    z.enum(appIdAlgorithms).optional(),
    `one of ${appIdAlgorithms.join(', ')}`,
    'Algorithm that ID tokens for the app are signed with.',
  ),
] as const

const projectSettings = [
  param('name', z.string().trim().min(1).max(100), 'a name of 1 to 100 characters', 'Name of the project.'),
  param('scopes', z.array(z.enum(scopeNames)), `a list of ${scopeNames.join(', ')}`, 'Allowed scopes.'),
  param(
    'resources',
    z.array(z.string().min(1).max(255)).max(20),
    'a list of at most 20 URIs',
    'Resources for which clients may request tokens (RFC 8707).',
  ),
  param(
    'accessLifetime',
    z.number().int().min(60).max(86_400),
    'seconds from 60 to 86400',
    'Lifetime of an access token in seconds.',
  ),
  param(
    'developerLifetime',
    z.number().int().min(3600).max(31_536_000),
    'seconds from 3600 to 31536000',
    'Lifetime of a developer ID token in seconds.',
  ),
  param(
    'dpop',
    records.dpopPolicy,
    'off, optional or required',
    'Whether tokens are bound to a key (RFC 9449).',
  ),
  param(
    'offline',
    records.projectLeases.optional(),
    `maxDays from 0 to ${leaseDays.max} and a list of ${leaseScopes.join(', ')}`,
    'For how many days a client may work at a device without the identity service, and with which scopes; maxDays 0: not at all. Absent: as it is, and for a new project not at all.',
  ),
  ...appSettings,
] as const

export const projectsMethods = {
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
    summary: 'Creates a project.',
    params: projectSettings,
    result: records.project,
    reasons: ['limit_exceeded', 'invalid_params'],
    access: any,
  }),
  'project.update': method({
    name: 'project.update',
    summary: 'Changes a project.',
    params: [clientId, ...projectSettings],
    result: records.project,
    reasons: ['not_found', 'invalid_params'],
    access: any,
  }),
  'project.dependents': method({
    name: 'project.dependents',
    summary: 'What is deleted or revoked together with a project.',
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
    summary: 'Creates a developer ID token for a project. It is shown once.',
    params: [clientId],
    result: z.object({ idToken: z.string(), jti: z.string(), expiresAt: isoTime }),
    reasons: ['not_found', 'conflict', 'limit_exceeded'],
    access: recent,
  }),
  'token.revoke': method({
    name: 'token.revoke',
    summary: 'Revokes a developer ID token, and the access tokens that were issued with it.',
    params: [id('jti', 'Token.')],
    result: done,
    reasons: ['not_found'],
    access: any,
  }),
  'sign_in.list': method({
    name: 'sign_in.list',
    summary: 'Sign-ins of terminals and devices that have a refresh token.',
    params: [],
    result: z.array(records.signIn),
    reasons: [],
    access: any,
  }),
  'sign_in.revoke': method({
    name: 'sign_in.revoke',
    summary: 'Revokes a sign-in, and the access tokens that were issued with it.',
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
} as const
