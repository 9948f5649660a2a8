import { appAudiences, appTypes } from '@selvedge/protocol'
import {
  appIdAlgorithms,
  isScope,
  type LeaseScope,
  leaseDays,
  leaseScopes,
  scopeNames,
  usualScopes,
} from '@selvedge/protocol/tokens'
import { command, type Input } from '../../command.ts'
import { UsageError } from '../../failure.ts'
import { readNumber } from '../../number-option.ts'

const listOf = (text: Input['options'][string]): string[] | null =>
  typeof text === 'string' ? text.split(/[\s,]+/).filter(Boolean) : null

/** How people sign in to the app of a project. */
const appOptions = [
  { flags: '--type <type>', description: `kind of app: ${appTypes.join(', ')}` },
  {
    flags: '--users <people>',
    description: 'who may sign in to the app: account (people of the account of the project) or anyone',
  },
  { flags: '--redirect-uris <list>', description: 'redirect URIs of the app, exactly as it sends them' },
  { flags: '--post-logout-redirect-uris <list>', description: 'where the browser may go after a logout' },
  { flags: '--origins <list>', description: 'origins of pages that may call the token endpoint (CORS)' },
  {
    flags: '--id-token-signed-response-alg <algorithm>',
    description: `algorithm that ID tokens for the app are signed with: ${appIdAlgorithms.join(', ')}`,
  },
]

/** One of some words, or null if the option is absent. @throws UsageError */
function wordOf<const Word extends string>(
  options: Input['options'],
  name: string,
  words: readonly Word[],
): Word | null {
  const given = options[name]
  if (given === undefined) return null
  const found = words.find((each) => each === given)
  const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  if (found === undefined)
    throw new UsageError(`--${flag} has another value than it may have`, `Values are ${words.join(', ')}.`)
  return found
}

const appOf = (options: Input['options']) => ({
  appType: wordOf(options, 'type', appTypes),
  appUsers: wordOf(options, 'users', appAudiences),
  redirectUris: listOf(options.redirectUris),
  postLogoutRedirectUris: listOf(options.postLogoutRedirectUris),
  origins: listOf(options.origins),
  idTokenSignedResponseAlg: wordOf(options, 'idTokenSignedResponseAlg', appIdAlgorithms),
})

export const adminProjectCreate = command({
  path: ['admin', 'project', 'create'],
  summary: 'Create a project. Its client ID is needed at the token endpoint.',
  options: [
    { flags: '--name <name>', description: 'name of the project', required: true },
    { flags: '--email <address>', description: 'owner; optional if there is only one account' },
    {
      flags: '--scopes <list>',
      description: `scopes that it may request; default: ${usualScopes.join(' ')}; for refresh tokens add offline_access`,
    },
    {
      flags: '--resources <list>',
      description: 'additional resources for which clients may request tokens (RFC 8707)',
    },
    ...appOptions,
  ],
  run: async ({ admin }, { options }) => {
    const scopes = listOf(options.scopes)
    const unknown = scopes?.find((each) => !isScope(each))
    if (unknown !== undefined)
      throw new UsageError(`there is no scope "${unknown}"`, `Scopes are ${scopeNames.join(', ')}.`)
    return admin['project.create']({
      name: String(options.name),
      email: typeof options.email === 'string' ? options.email : null,
      scopes: scopes?.filter(isScope) ?? null,
      resources: listOf(options.resources),
      ...appOf(options),
    })
  },
})

export const adminProjectUpdate = command({
  path: ['admin', 'project', 'update'],
  summary: 'Change how people sign in to the app of a project. What is not given stays; "" empties a list.',
  args: [{ name: '<client-id>', description: 'client ID of the project' }],
  options: appOptions,
  run: async ({ admin }, { args: [clientId = ''], options }) =>
    admin['project.update']({ clientId, ...appOf(options) }),
})

export const adminProjectList = command({
  path: ['admin', 'project', 'list'],
  summary: 'List the projects.',
  run: async ({ admin }) => admin['project.list'](),
})

export const adminProjectOffline = command({
  path: ['admin', 'project', 'offline'],
  summary:
    'Set for how long clients of a project may work at a device that cannot reach the identity service. Less than before revokes their leases.',
  args: [{ name: '<client-id>', description: 'client ID of the project' }],
  options: [
    {
      flags: '--max-days <days>',
      description: `maximum life of a lease, from ${leaseDays.min} to ${leaseDays.max} days; 0: no leases`,
      required: true,
    },
    {
      flags: '--scopes <list>',
      description: `scopes of leases: ${leaseScopes.join(', ')}; edge:mcm lets a lease change containers`,
    },
  ],
  run: async ({ admin }, { args: [clientId = ''], options }) => {
    const maxDays = readNumber('--max-days', options.maxDays, { min: 0, max: 365, unit: 'days' })
    const scopes = listOf(options.scopes) ?? []
    const unknown = scopes.find((each) => !isLeaseScope(each))
    if (unknown !== undefined)
      throw new UsageError(
        `no lease may have the scope "${unknown}"`,
        `Scopes are ${leaseScopes.join(', ')}.`,
      )
    if (maxDays > 0 && scopes.length === 0)
      throw new UsageError('a project with leases needs --scopes', `Scopes are ${leaseScopes.join(', ')}.`)
    return admin['project.offline']({ clientId, maxDays, scopes: scopes.filter(isLeaseScope) })
  },
})

const isLeaseScope = (text: string): text is LeaseScope => leaseScopes.some((scope) => scope === text)

export const adminProjectDisable = command({
  path: ['admin', 'project', 'disable'],
  summary: 'Disable a project: its client ID gets no more tokens.',
  args: [{ name: '<client-id>', description: 'client ID of the project' }],
  run: async ({ admin }, { args: [clientId = ''] }) => admin['project.disable']({ clientId }),
})
