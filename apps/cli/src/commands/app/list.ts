import { type AppRecord, countStates } from '@selvedge/protocol'
import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { explainEmpty } from '../../context/service-access.ts'
import { formatHuman } from '../../output/human.ts'
import { memberState } from './member-state.ts'

/** @returns such as `2 running, 1 paused` */
const stateOf = ({ members }: AppRecord): string =>
  countStates(members.map(({ container }) => ({ state: container?.state ?? 'missing' })))

export const appList = command({
  path: ['app', 'list'],
  summary: 'List the apps of the project, with their members.',
  options: accessTokenOptions,
  run: async (context, { options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    const apps = await context.runtime.getApps({ edgeAccessToken })
    if (apps.length === 0) explainEmpty(context, edgeAccessToken, options)
    return apps
  },
  human: (apps) =>
    formatHuman(
      apps.map((app) => ({
        name: app.name,
        revision: app.revision,
        state: stateOf(app),
        members: app.members
          .map(({ service, container }) => `${service}: ${memberState(container)}`)
          .join(', '),
        deployed: app.deployedAt,
        note: app.note,
      })),
    ),
})
