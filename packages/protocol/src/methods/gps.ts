import * as z from 'zod'
import { RpcError } from '../errors/rpc-error.ts'
import { fixSources } from '../http/discovery.ts'
import { method, param } from './method.ts'
import { decimalValue, edgeAccessToken, isoTime } from './values.ts'

/** A GPS signal as given: decimal strings (the mission's way) or numbers. */
export interface GpsSignal {
  readonly longitude: string | number
  readonly latitude: string | number
  readonly speed: string | number
  readonly bearing: string | number
}

/** Ranges of a GPS signal: degrees, metres per second. `max` is excluded only for the bearing. */
export const gpsRanges = {
  longitude: { min: -180, max: 180, text: 'from -180 to 180 degrees' },
  latitude: { min: -90, max: 90, text: 'from -90 to 90 degrees' },
  speed: { min: 0, max: Number.MAX_VALUE, text: '0 or more metres per second' },
  bearing: { min: 0, max: 360, text: 'from 0 up to, but not including, 360 degrees' },
} as const

const decimalText = 'a decimal string or a finite number'

export const updateGps = method({
  name: 'updateGps',
  summary: 'Records the location of the device with the runtime and its discovery service.',
  description:
    '"ok": durable here and accepted by the discovery service. "queued": durable here, and sent when the runtime reconnects to the discovery service.',
  params: [
    edgeAccessToken,
    param(
      'longitude',
      decimalValue,
      `${decimalText}, ${gpsRanges.longitude.text}`,
      'Decimal degrees, WGS 84.',
    ),
    param('latitude', decimalValue, `${decimalText}, ${gpsRanges.latitude.text}`, 'Decimal degrees, WGS 84.'),
    param('speed', decimalValue, `${decimalText}, ${gpsRanges.speed.text}`, 'Metres per second.'),
    param(
      'bearing',
      decimalValue,
      `${decimalText}, ${gpsRanges.bearing.text}`,
      'Degrees clockwise from true north.',
    ),
  ],
  result: z.object({ status: z.enum(['ok', 'queued']) }),
  reasons: ['storage_full'],
  access: { caller: 'token', token: 'associated' },
})

export const getGps = method({
  name: 'getGps',
  summary: 'The last location that was recorded.',
  params: [edgeAccessToken],
  result: z.object({
    longitude: decimalValue,
    latitude: decimalValue,
    speed: decimalValue,
    bearing: decimalValue,
    fixedAt: isoTime.describe('Time of the fix'),
    accuracy: z
      .number()
      .nullable()
      .describe('Accuracy in metres, as the receiver reports it; null if it does not'),
    receivedAt: isoTime.describe('When the runtime received it'),
    source: z.enum(fixSources).describe('Source of the location'),
    published: z.boolean().describe('Whether the discovery service has accepted it'),
  }),
  reasons: ['not_found'],
  access: { caller: 'token', token: 'associated' },
  fromServices: 'yes',
})

/**
 * The signal as numbers.
 *
 * A value is never guessed to be another one: swapping the first two would be right in Vancouver and wrong in Paris.
 *
 * @param order the positional order in force, for the message
 * @throws RpcError `invalid_params` when a value is out of its range
 *
 * @example
 * ```ts
 * import { readGpsSignal } from '@selvedge/protocol'
 *
 * const signal = { longitude: '-123.1', latitude: '49.2', speed: '0', bearing: '0' }
 * console.log(readGpsSignal(signal, ['longitude', 'latitude', 'speed', 'bearing']).latitude) // 49.2
 * ```
 */
export function readGpsSignal(
  signal: GpsSignal,
  order: readonly string[],
): Record<keyof typeof gpsRanges, number> {
  const numbers = {} as Record<keyof typeof gpsRanges, number>
  for (const name of Object.keys(gpsRanges) as (keyof typeof gpsRanges)[]) {
    const { min, max, text } = gpsRanges[name]
    const value = Number(signal[name])
    if (!(value >= min && value <= max) || (name === 'bearing' && value === max)) {
      throw new RpcError('invalid_params', `updateGps: parameter "${name}" is ${value}; expected ${text}`, {
        hint: orderHint(order),
      })
    }
    numbers[name] = value
  }
  return numbers
}

function orderHint(order: readonly string[]): string {
  return (
    `This runtime reads positional values as ${order.join(', ')}. Some clients send latitude before longitude: ` +
    'if yours does, send longitude first, or use the by-name form ' +
    '{"edgeAccessToken":…,"longitude":…,"latitude":…,"speed":…,"bearing":…}, ' +
    'or set "gps.positionalOrder" in the configuration of the runtime.'
  )
}
