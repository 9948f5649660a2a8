import { type CommandDeclaration, command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import type { Context } from '../../context/context.ts'
import { ofClient } from '../../context/service-access.ts'
import { formatHuman } from '../../output/human.ts'
import { spinning } from '../../output/spinner.ts'

type Change = 'startApp' | 'stopApp'

/** The commands that start and stop all containers of an app. */
const change = (verb: string, summary: string, doing: string, methods: readonly Change[]) =>
  command({
    path: ['app', verb],
    summary,
    args: [{ name: '<name>', description: 'name of the app' }],
    options: accessTokenOptions,
    run: async (context, { args: [name = ''], options }) => {
      const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
      const changed = ofClient(edgeAccessToken, changeApp(context, methods, { edgeAccessToken, name }))
      return spinning(context.terminal, `${doing} ${name}`, changed)
    },
    human: ({ name, members }) =>
      formatHuman({
        name,
        members: members.map(({ service, container }) => `${service}: ${container?.state ?? 'missing'}`),
      }),
  })

/** @returns the app after the last change */
async function changeApp(
  { runtime }: Context,
  methods: readonly Change[],
  call: { readonly edgeAccessToken: string; readonly name: string },
) {
  const [first, ...others] = methods
  let app = await runtime[first!](call)
  for (const each of others) app = await runtime[each](call)
  return app
}

export const appChanges: readonly CommandDeclaration[] = [
  change('start', 'Start all containers of an app, in the order of their dependencies.', 'starting', [
    'startApp',
  ]),
  change('stop', 'Stop all containers of an app. They stay stopped when the device restarts.', 'stopping', [
    'stopApp',
  ]),
  change('restart', 'Stop all containers of an app, and start them again.', 'restarting', [
    'stopApp',
    'startApp',
  ]),
]
