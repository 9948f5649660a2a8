import { open, stat } from 'node:fs/promises'
import { RpcFailure } from '@selvedge/client'
import { isWorthSending, type Motion } from '@selvedge/geo'
import { describedBytes, describeLog, follow, parseSource, type Reading } from '@selvedge/geo/receivers'
import { onOneLine } from '@selvedge/protocol/redaction'
import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { describeFailure, UsageError } from '../../failure.ts'

/** Retry interval for an unavailable receiver, in milliseconds. */
const retryMs = 5000

export const gpsFollow = command({
  path: ['gps', 'follow'],
  summary:
    'Follow a receiver, and record the location of the device as it moves. To do it without this command, set "gps.source" of the runtime.',
  options: [
    { flags: '--gpsd <address>', description: 'host:port of gpsd, such as localhost:2947' },
    { flags: '--nmea <path>', description: 'device or file with NMEA 0183 data, such as /dev/ttyACM0' },
    {
      flags: '--max-error <metres>',
      description: 'maximum error of dead reckoning from the last fix; default 50',
    },
    { flags: '--max-interval <seconds>', description: 'maximum time between two fixes; default 120' },
    ...accessTokenOptions,
  ],
  run: async (context, { options }) => {
    const { gpsd, nmea, maxError = '50', maxInterval = '120' } = options
    const source = parseSource(
      typeof gpsd === 'string' ? `gpsd://${gpsd}` : `nmea:${typeof nmea === 'string' ? nmea : ''}`,
    )
    if (!source || (gpsd !== undefined && nmea !== undefined))
      throw new UsageError('there is no receiver to follow', 'Give either --gpsd host:port or --nmea path.')
    const limits = { maxError: Number(maxError), maxIntervalMs: Number(maxInterval) * 1000 }
    if (!(limits.maxError > 0 && limits.maxIntervalMs > 0))
      throw new UsageError(
        '--max-error and --max-interval are numbers above 0',
        'Omit them to use the defaults.',
      )

    const say = (text: string) => context.terminal.note(onOneLine(text))
    let edgeAccessToken = await accessTokenOf(context, options, 'openid')
    let sent: Motion | undefined
    let turn = Promise.resolve()
    let failure: unknown
    const counts = { read: 0, recorded: 0 }
    const record = async (reading: Reading): Promise<void> => {
      counts.read++
      // A file is read at once, so the times of its fixes count and not the current time.
      const now = { ...reading, fixedAt: reading.time ?? context.now() * 1000 }
      if (!isWorthSending(sent, now, limits)) return
      const text = (value: number) => String(Math.round(value * 1e7) / 1e7)
      const update = () =>
        context.runtime.updateGps({
          edgeAccessToken,
          longitude: text(reading.longitude),
          latitude: text(reading.latitude),
          speed: text(reading.speed),
          bearing: text(reading.bearing),
        })
      const { status } = await update().catch(async (cause: unknown) => {
        if (!(cause instanceof RpcFailure) || cause.reason !== 'token_expired') throw cause
        edgeAccessToken = await accessTokenOf(context, options, 'openid')
        return update()
      })
      sent = now
      counts.recorded++
      say(
        `${reading.latitude.toFixed(6)}, ${reading.longitude.toFixed(6)}  ${reading.speed.toFixed(1)} m/s  ${status}`,
      )
    }

    const following = follow(source, {
      // If a device or gpsd ends the stream, it may reconnect: retry. The end of a file is final.
      ...((source.kind === 'gpsd' || isDevice(source.path)) && { againMs: retryMs }),
      onReading(reading) {
        turn = turn
          .then(() => record(reading))
          .catch((cause: unknown) => {
            // If the runtime does not accept the fix, stop.
            failure ??= cause
            following.stop()
          })
      },
      onTrouble: (reason) => reason !== undefined && say(`the receiver sends no fixes: ${reason}`),
    })
    const stop = () => following.stop()
    process.once('SIGINT', stop)
    process.once('SIGTERM', stop)
    await following.ended
    await turn
    if (counts.read === 0 && source.kind === 'nmea' && !isDevice(source.path) && failure === undefined)
      throw new Error(`${source.path} has no usable sentence: ${describeLog(await beginningOf(source.path))}`)
    if (failure !== undefined)
      throw failure instanceof Error ? failure : new Error(describeFailure(failure).message)
    return counts
  },
  human: ({ read, recorded }) => `${recorded} of ${read} readings were worth recording`,
})

const isDevice = (path: string): boolean => path.startsWith('/dev/')

/** Empty for what is not a file, such as a pipe: what was read of it is gone. */
async function beginningOf(path: string): Promise<Buffer> {
  if (!(await stat(path)).isFile()) return Buffer.alloc(0)
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(describedBytes), 0, describedBytes, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
