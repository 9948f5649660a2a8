import { isScope, scopeNames, usualScopes } from '@selvedge/protocol/tokens'
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

export const adminProjectDisable = command({
  path: ['admin', 'project', 'disable'],
  summary: 'Disable a project: its client ID gets no more tokens.',
  args: [{ name: '<client-id>', description: 'client ID of the project' }],
  run: async ({ admin }, { args: [clientId = ''] }) => admin['project.disable']({ clientId }),
})
