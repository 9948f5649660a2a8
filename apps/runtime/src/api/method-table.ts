import { type Methods, methods, withParamOrder } from '@selvedge/protocol'
import type { RuntimeConfig } from '../config.ts'

const latitudeFirst = ['edgeAccessToken', 'latitude', 'longitude', 'speed', 'bearing']

/** The methods of the contract, in the positional order that the configuration sets. Everything derives from this list. */
export function methodTable(config: RuntimeConfig): Methods {
  const isSwapped = config['gps.positionalOrder'] === 'latitude-first'
  const updateGps = isSwapped ? withParamOrder(methods.updateGps, latitudeFirst) : methods.updateGps
  return { ...methods, updateGps }
}
