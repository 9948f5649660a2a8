import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { UsageError } from '../../failure.ts'
import { told } from './share.ts'

export const locationTrack = command({
  path: ['location', 'track'],
  summary: 'Show where this node went; with --days or --off, begin or end keeping that.',
  options: [
    { flags: '--days <count>', description: 'keep a track for so many days, 31 at most; then it is deleted' },
    { flags: '--off', description: 'keep no track, and delete what is kept' },
    ...accessTokenOptions,
  ],
  run: async (context, { options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid')
    if (options.days === undefined && options.off === undefined)
      return context.runtime.getLocationTrack({ edgeAccessToken })
    const days = Number(options.days)
    if (options.off === undefined && !(days > 0 && days <= 31))
      throw new UsageError(`--days is ${String(options.days)}`, 'Give a number from above 0 to 31.')
    const until =
      options.off === undefined ? new Date((context.now() + days * 86_400) * 1000).toISOString() : ''
    return context.runtime.setLocationTrack({ edgeAccessToken, until })
  },
  human: (result) => {
    if ('status' in result)
      return `${result.until === null ? 'no track is kept' : `a track is kept until ${result.until}`}; ${told(result.status)}`
    if (result.until === null) return 'no track is kept; begin one with --days'
    const lines = result.data.map(
      ([longitude, latitude, at]) =>
        `${new Date(at).toISOString()}  ${latitude.toFixed(6)}, ${longitude.toFixed(6)}`,
    )
    return [...lines, `kept until ${result.until}`].join('\n')
  },
})
