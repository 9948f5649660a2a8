import { followLogs } from '@selvedge/client/node'
import type { LogLine } from '@selvedge/protocol'
import { onOneLine } from '@selvedge/protocol/redaction'
import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { ofClient } from '../../context/service-access.ts'
import { UsageError } from '../../failure.ts'
import { readNumber } from '../../number-option.ts'
import { formatJsonLine } from '../../output/json.ts'

/** Lines that a runtime keeps at most for one answer. */
const maxTail = 10_000

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `10m`, `2h`, or an ISO 8601 time, as an ISO 8601 time. */
function readSince(text: string, now: number): string {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? []
  if (count !== undefined) return new Date(now - Number(count) * units[unit]!).toISOString()
  if (!Number.isNaN(Date.parse(text))) return new Date(text).toISOString()
  throw new UsageError(
    `--since is ${JSON.stringify(text.slice(0, 80))}, which is neither a duration nor a time`,
    'Give a duration such as 10m or 2h, or a time such as 2026-01-31T12:00:00Z.',
  )
}

const format = ({ time, stream, text }: LogLine): string =>
  `${time.slice(11, 23)} ${stream === 'stdout' ? ' ' : stream === 'stderr' ? '!' : '#'} ${text}`

export const containerLogs = command({
  path: ['container', 'logs'],
  summary:
    'Show the log of a container; with --follow, as it is written. "!" marks standard error, "#" the runtime itself.',
  args: [{ name: '<id>', description: 'id or name of the container' }],
  options: [
    { flags: '--tail <count>', description: 'maximum number of lines; default 100' },
    { flags: '--since <time>', description: 'only lines since then: 10m, 2h, or an ISO 8601 time' },
    { flags: '-f, --follow', description: 'show new lines until interrupted' },
    ...accessTokenOptions,
  ],
  examples: ['selvedge logs hello --follow', 'selvedge logs hello --since 10m --tail 500'],
  run: async (context, { args: [id = ''], options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    const tail = readNumber('--tail', options.tail ?? '100', { min: 1, max: maxTail, unit: 'lines' })
    const now = Date.parse((await context.runtime.getMe()).time.now)
    const since = typeof options.since === 'string' ? readSince(options.since, now) : undefined
    if (options.follow) {
      const show = (line: LogLine) =>
        context.terminal.out(options.json ? formatJsonLine(line) : onOneLine(format(line)))
      const range = { tail, ...(since !== undefined && { since }) }
      const streams = await context.streams(edgeAccessToken)
      await ofClient(edgeAccessToken, followLogs(streams, id, range, show))
      return undefined
    }
    const { lines } = await ofClient(
      edgeAccessToken,
      context.runtime.getContainerLogs({ edgeAccessToken, id, tail }),
    )
    return { lines: lines.filter(({ time }) => since === undefined || time >= since) }
  },
  isVerbatim: true,
  human: (result) => result?.lines.map(format).join('\n') ?? '',
})
