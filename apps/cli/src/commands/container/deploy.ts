import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { ofClient } from '../../context/service-access.ts'
import { spinning } from '../../output/spinner.ts'
import { settingsHelp } from './settings-help.ts'
import { readSpec } from './spec.ts'

export const containerDeploy = command({
  path: ['container', 'deploy'],
  summary: 'Run an image as a service, or replace a running one as soon as the new version is healthy.',
  options: [
    { flags: '--name <name>', description: 'name of the container' },
    { flags: '--image <name>', description: 'name or id of a deployed image' },
    {
      flags: '--env <pair...>',
      description: 'KEY=value; can be repeated. Names with MCM. are settings of the runtime',
    },
    { flags: '--env-file <file>', description: 'file with KEY=value lines' },
    { flags: '--payload <file>', description: 'JSON file with { "name", "image", "env" }' },
    ...accessTokenOptions,
  ],
  notes: settingsHelp,
  run: async (context, { options }) => {
    const spec = readSpec(options)
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    return ofClient(
      edgeAccessToken,
      spinning(
        context.terminal,
        `deploying ${spec.name}`,
        context.runtime.deployContainer({ edgeAccessToken, spec }),
      ),
    )
  },
})
