import { type Audience, audiences, type Precision, precisions } from '@selvedge/protocol'
import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { UsageError } from '../../failure.ts'

export const told = (status: 'ok' | 'queued'): string =>
  status === 'ok' ? 'it holds from now on' : 'it holds here; the discovery service is told when it is back'

export const locationShare = command({
  path: ['location', 'share'],
  summary: 'Set how exactly an audience is told where this node is.',
  args: '<audience> <precision>',
  options: accessTokenOptions,
  run: async (context, { args: [audience = '', precision = ''], options }) => {
    if (!(audiences as readonly string[]).includes(audience))
      throw new UsageError(
        `there is no audience ${JSON.stringify(audience)}`,
        `Give one of ${audiences.join(', ')}.`,
      )
    if (!(precisions as readonly string[]).includes(precision))
      throw new UsageError(
        `there is no precision ${JSON.stringify(precision)}`,
        `Give one of ${precisions.join(', ')}.`,
      )
    return context.runtime.setLocationSharing({
      edgeAccessToken: await accessTokenOf(context, options, 'openid'),
      audience: audience as Audience,
      precision: precision as Precision,
    })
  },
  human: ({ account, others, status }) => `own account: ${account}, others: ${others}; ${told(status)}`,
})

export const locationShow = command({
  path: ['location', 'show'],
  summary: 'Show who is told where this node is, and until when a track is kept.',
  options: accessTokenOptions,
  run: async (context, { options }) =>
    context.runtime.getLocationSharing({ edgeAccessToken: await accessTokenOf(context, options, 'openid') }),
  human: ({ account, others, trackUntil }) =>
    `own account: ${account}, others: ${others}; ${trackUntil === null ? 'no track is kept' : `a track is kept until ${trackUntil}`}`,
})
