import type { TrackOptions } from '@selvedge/protocol'
import { command, type Input } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { UsageError } from '../../failure.ts'
import { readNumber } from '../../number-option.ts'
import { told } from './share.ts'

const isoTime = (at: number): string => new Date(at).toISOString()

function readPage({ limit, before }: Input['options']): TrackOptions {
  const at = before === undefined ? undefined : Date.parse(String(before))
  if (Number.isNaN(at))
    throw new UsageError(
      `--before is ${JSON.stringify(before)}, which is no time`,
      'Give a time such as 2026-01-31T12:00:00Z.',
    )
  return {
    ...(limit !== undefined && {
      limit: readNumber('--limit', limit, { min: 1, max: 10_000, unit: 'points' }),
    }),
    ...(at !== undefined && { before: at }),
  }
}

export const locationTrack = command({
  path: ['location', 'track'],
  summary: 'Show the track of this node. With --days or --off, start or stop storing it.',
  options: [
    {
      flags: '--days <count>',
      description: 'store a track for this many days, at most 31; then it is deleted',
    },
    { flags: '--off', description: 'stop the track and delete it' },
    { flags: '--limit <count>', description: 'maximum number of points; default 10000' },
    { flags: '--before <time>', description: 'show points before an ISO 8601 time' },
    ...accessTokenOptions,
  ],
  run: async (context, { options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid')
    if (options.days === undefined && options.off === undefined)
      return context.runtime.getLocationTrack({ edgeAccessToken, options: readPage(options) })
    const range = { min: 0.01, max: 31, unit: 'days', fraction: true }
    const days = options.off === undefined ? readNumber('--days', options.days, range) : 0
    const until = days > 0 ? new Date((context.now() + days * 86_400) * 1000).toISOString() : ''
    return context.runtime.setLocationTrack({ edgeAccessToken, until })
  },
  human: (result) => {
    if ('status' in result)
      return `${result.until === null ? 'no track is stored' : `a track is stored until ${result.until}`}; ${told(result.status)}`
    if (result.until === null) return 'no track is stored; start one with --days'
    const lines = result.data.map(
      ([longitude, latitude, at]) => `${isoTime(at)}  ${latitude.toFixed(6)}, ${longitude.toFixed(6)}`,
    )
    const earlier = result.next === null ? [] : [`for earlier points: --before ${isoTime(result.next)}`]
    return [...earlier, ...lines, `stored until ${result.until}`].join('\n')
  },
})
