import { type CommandDeclaration, command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { ofClient } from '../../context/service-access.ts'

/** The commands that need a container ID and one call. */
const change = (
  verb: string,
  summary: string,
  method: 'startContainer' | 'stopContainer' | 'removeContainer',
) =>
  command<unknown>({
    path: ['container', verb],
    summary,
    args: [{ name: '<id>', description: 'id or name of the container' }],
    options: accessTokenOptions,
    run: async (context, { args: [id = ''], options }) => {
      const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
      return ofClient(edgeAccessToken, context.runtime[method]({ edgeAccessToken, id }) as Promise<unknown>)
    },
  })

export const containerChanges: readonly CommandDeclaration[] = [
  change('start', 'Start a container that was stopped or has failed.', 'startContainer'),
  change('stop', 'Stop a container. It stays stopped when the device restarts.', 'stopContainer'),
  change('remove', 'Remove a container with its storage and its volumes.', 'removeContainer'),
]
