import {
  isScope,
  type LeaseScope,
  leaseDays,
  leaseScopes,
  scopeNames,
  usualScopes,
} from '@selvedge/protocol/tokens'
import { command, type Input } from '../../command.ts'
import { UsageError } from '../../failure.ts'

const listOf = (text: Input['options'][string]): string[] | null =>
  typeof text === 'string' ? text.split(/[\s,]+/).filter(Boolean) : null

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
    })
  },
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
    const maxDays = Number(options.maxDays)
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
