/** Receivers of satellite navigation: gpsd's JSON, and NMEA 0183 from a device or a file. For programs on Node. */
export { describedBytes, describeLog } from './describe-log.ts'
export { type Follow, follow, parseSource, type ReceiverSource } from './follow.ts'
export { createGpsdReader } from './gpsd.ts'
export { createNmeaReader } from './nmea.ts'
export type { Reading } from './reading.ts'
