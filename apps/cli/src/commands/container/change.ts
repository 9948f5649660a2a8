import { type CommandDeclaration, command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { ofClient } from '../../context/service-access.ts'
import { type ContainerMethods, changeContainer } from '../lifecycle/change.ts'

/** The commands that need a container ID, and no more. */
const change = (
  verb: string,
  summary: string,
  methods: ContainerMethods | 'removeContainer',
): CommandDeclaration =>
  command<unknown>({
    path: ['container', verb],
    summary,
    args: [{ name: '<id>', description: 'id or name of the container' }],
    options: accessTokenOptions,
    run: async (context, { args: [id = ''], options }) => {
      const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
      const call = { edgeAccessToken, id }
      return ofClient<unknown>(
        edgeAccessToken,
        methods === 'removeContainer'
          ? context.runtime[methods](call)
          : changeContainer(context, methods, call),
      )
    },
  })

export const containerChanges: readonly CommandDeclaration[] = [
  change('start', 'Start a container that was stopped or has failed.', ['startContainer']),
  change('stop', 'Stop a container. It stays stopped when the device restarts.', ['stopContainer']),
  change('restart', 'Stop a container, and start it again.', ['stopContainer', 'startContainer']),
  change(
    'redeploy',
    'Deploy a container again, with its settings and the present image on the device. It serves until the next revision is healthy.',
    ['redeployContainer'],
  ),
  change('remove', 'Remove a container with its storage and its volumes.', 'removeContainer'),
]
