/** The receiver that the configuration names, followed for as long as the runtime runs. */
import { follow, parseSource } from '@selvedge/geo/receivers'
import { ConfigError } from '@selvedge/service-kit/config'
import type { Log } from '@selvedge/service-kit/log'
import type { Gps } from './gps.ts'

/** Milliseconds until a receiver that is away is tried again. */
const again = 5000

/**
 * @param source what `gps.source` says; "" for none
 * @returns what ends it
 * @throws ConfigError
 */
export function followReceiver(source: string, gps: Gps, log: Log): () => void {
  if (source === '') return () => undefined
  const parsed = parseSource(source)
  if (!parsed) {
    throw new ConfigError(
      `gps.source is ${JSON.stringify(source)}; expected gpsd://host:port, or nmea: and the path of a device or a file`,
    )
  }
  let told: string | undefined
  return follow(parsed, {
    again,
    onReading: (reading) =>
      void gps
        .observe(reading, parsed.kind)
        .catch((cause) => log.error('a fix could not be kept', { cause })),
    onTrouble(reason) {
      // Once for each reason: the receiver is tried every few seconds.
      if (reason !== undefined && reason !== told) log.warn('the receiver gives no fixes', { source, reason })
      if (reason === undefined && told !== undefined) log.info('the receiver gives fixes again', { source })
      told = reason
    },
  }).stop
}
