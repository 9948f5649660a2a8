/** The receiver that the configuration names, followed for as long as the runtime runs. */
import { follow, parseSource } from '@selvedge/geo/receivers'
import { ConfigError } from '@selvedge/service-kit/config'
import type { Log } from '@selvedge/service-kit/log'
import type { Notices } from '../../device/node/notices.ts'
import type { Gps } from './gps.ts'

/** Milliseconds until a receiver that does not answer is tried again. */
const retryDelayMs = 5000

/**
 * @param source what `gps.source` says; "" for none
 * @returns what ends it
 * @throws ConfigError
 */
export function followReceiver(source: string, gps: Gps, log: Log, notices: Notices): () => void {
  if (source === '') return () => undefined
  const parsed = parseSource(source)
  if (!parsed) {
    throw new ConfigError(
      `gps.source is ${JSON.stringify(source)}; expected gpsd://host:port, or nmea: and the path of a device or a file`,
    )
  }
  return follow(parsed, {
    againMs: retryDelayMs,
    onReading: (reading) =>
      void gps
        .observe(reading, parsed.kind)
        .catch((cause) => log.error('a fix could not be stored', { cause })),
    onTrouble(reason) {
      if (reason !== undefined) notices.raise('receiver_unavailable', { source, why: reason })
      else if (notices.has('receiver_unavailable')) {
        notices.clear('receiver_unavailable')
        log.info('the receiver gives positions again', { source })
      }
    },
  }).stop
}
