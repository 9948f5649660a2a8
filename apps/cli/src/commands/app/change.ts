import { type CommandDeclaration, command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { ofClient } from '../../context/service-access.ts'
import { formatHuman } from '../../output/human.ts'
import { spinning } from '../../output/spinner.ts'
import { type AppMethods, changeApp } from '../lifecycle/change.ts'
import { memberState } from './member-state.ts'

/** The commands that change all containers of an app. */
const change = (verb: string, summary: string, doing: string, methods: AppMethods) =>
  command({
    path: ['app', verb],
    summary,
    args: [{ name: '<name>', description: 'name of the app' }],
    options: accessTokenOptions,
    run: async (context, { args: [name = ''], options }) => {
      const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
      const changed = ofClient(
        edgeAccessToken,
        changeApp(context, methods, { edgeAccessToken, name }),
        '"selvedge app list" shows what there is.',
      )
      return spinning(context.terminal, `${doing} ${name}`, changed)
    },
    human: ({ name, revision, members }) =>
      formatHuman({
        ...{ name, revision },
        members: members.map(({ service, container }) => `${service}: ${memberState(container)}`),
      }),
  })

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
  change(
    'redeploy',
    'Start all containers of an app again, with their settings and the present images on the device.',
    'redeploying',
    ['redeployApp'],
  ),
  change(
    'rollback',
    'Deploy the version of an app before the present one again. A second rollback returns to the present one.',
    'rolling back',
    ['rollbackApp'],
  ),
]
