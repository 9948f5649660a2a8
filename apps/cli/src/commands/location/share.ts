import { type Audience, audiences, type Precision, precisions } from '@selvedge/protocol'
import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'

export const told = (status: 'ok' | 'queued'): string =>
  status === 'ok'
    ? 'it applies from now on'
    : 'it applies here; the runtime sends it to the discovery service when it reconnects'

export const locationShare = command({
  path: ['location', 'share'],
  summary: 'Set the precision at which an audience sees the location of this node.',
  args: [
    {
      name: '<audience>',
      description: 'audience: nodes of the own account, or of others',
      choices: audiences,
    },
    {
      name: '<precision>',
      description: 'precision: exact, a grid of 1 km or of a city, or none',
      choices: precisions,
    },
  ],
  options: accessTokenOptions,
  run: async (context, { args: [audience, precision], options }) =>
    context.runtime.setLocationSharing({
      edgeAccessToken: await accessTokenOf(context, options, 'openid'),
      audience: audience as Audience,
      precision: precision as Precision,
    }),
  human: ({ account, others, status }) => `own account: ${account}, others: ${others}; ${told(status)}`,
})

export const locationShow = command({
  path: ['location', 'show'],
  summary: 'Show who can see the location of this node, and until when a track is stored.',
  options: accessTokenOptions,
  run: async (context, { options }) =>
    context.runtime.getLocationSharing({ edgeAccessToken: await accessTokenOf(context, options, 'openid') }),
  human: ({ account, others, trackUntil }) =>
    `own account: ${account}, others: ${others}; ${trackUntil === null ? 'no track is stored' : `a track is stored until ${trackUntil}`}`,
})
