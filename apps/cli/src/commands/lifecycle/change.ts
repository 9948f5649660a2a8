/** Changes of a container or an app that is there, each by one call after the other; and the commands that do so by its name. */
import type { AppRecord, ContainerRecord } from '@selvedge/protocol'
import { type CommandDeclaration, command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import type { Context } from '../../context/context.ts'
import { ofClient } from '../../context/service-access.ts'
import { spinning } from '../../output/spinner.ts'
import { memberState } from '../app/member-state.ts'
import { findNamed } from './find-named.ts'

type AppMethod = 'startApp' | 'stopApp' | 'redeployApp' | 'rollbackApp'
type ContainerMethod = 'startContainer' | 'stopContainer' | 'redeployContainer'

/** What is called, in this order. */
export type AppMethods = readonly [AppMethod, ...AppMethod[]]
export type ContainerMethods = readonly [ContainerMethod, ...ContainerMethod[]]

interface Change {
  readonly verb: string
  readonly summary: string
  /** For the line while it happens, such as `stopping`. */
  readonly doing: string
  readonly ofApp: AppMethods
  readonly ofContainer: ContainerMethods
}

export const changeByName = ({ verb, summary, doing, ofApp, ofContainer }: Change): CommandDeclaration =>
  command({
    path: [verb],
    summary,
    args: [{ name: '<name>', description: 'name or id of a service, or name of an app' }],
    options: accessTokenOptions,
    run: async (context, { args: [name = ''], options }): Promise<AppRecord | ContainerRecord> => {
      const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
      const { app, container } = await findNamed(context, edgeAccessToken, name)
      const changed: Promise<AppRecord | ContainerRecord> = app
        ? changeApp(context, ofApp, { edgeAccessToken, name: app.name })
        : changeContainer(context, ofContainer, { edgeAccessToken, id: container.id })
      return ofClient(edgeAccessToken, spinning(context.terminal, `${doing} ${name}`, changed))
    },
    human: (record) =>
      'members' in record
        ? record.members.map(({ service, container }) => `${service}: ${memberState(container)}`).join('\n')
        : `${record.name}: ${memberState(record)}`,
  })

/** @returns the app after the last change */
export async function changeApp(
  { runtime }: Pick<Context, 'runtime'>,
  [first, ...others]: AppMethods,
  call: { readonly edgeAccessToken: string; readonly name: string },
): Promise<AppRecord> {
  let app = await runtime[first](call)
  for (const each of others) app = await runtime[each](call)
  return app
}

/** @returns the container after the last change */
export async function changeContainer(
  { runtime }: Pick<Context, 'runtime'>,
  [first, ...others]: ContainerMethods,
  call: { readonly edgeAccessToken: string; readonly id: string },
): Promise<ContainerRecord> {
  let container = await runtime[first](call)
  for (const each of others) container = await runtime[each](call)
  return container
}
