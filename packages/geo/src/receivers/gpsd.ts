/** The JSON protocol of gpsd (gpsd_json(5)): reports of the class TPV. */
import { createLineSplitter, isSound, type Reading, type ReceiverReader } from './reading.ts'

/** Asks for reports; sent once a connection. */
export const watchCommand = '?WATCH={"enable":true,"json":true};\n'

/** A list of satellites is the longest report. */
const longest = 32_768

export function createGpsdReader(): ReceiverReader {
  const split = createLineSplitter(longest)
  return (chunk) => split(chunk).flatMap((line) => readReport(line) ?? [])
}

function readReport(line: string): Reading | undefined {
  let json: Record<string, unknown>
  try {
    json = JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
  const { class: kind, mode, lon, lat, speed = 0, track = 0, time } = json ?? {}
  if (kind !== 'TPV' || (mode !== 2 && mode !== 3)) return undefined
  if (typeof lon !== 'number' || typeof lat !== 'number') return undefined
  if (typeof speed !== 'number' || typeof track !== 'number') return undefined
  const accuracy = accuracyOf(json)
  const at = typeof time === 'string' ? Date.parse(time) : Number.NaN
  const reading: Reading = {
    longitude: lon,
    latitude: lat,
    speed,
    bearing: track % 360,
    ...(accuracy !== undefined && { accuracy }),
    mode,
    ...(!Number.isNaN(at) && { time: at }),
  }
  return isSound(reading) ? reading : undefined
}

/** The error of the place; older versions tell it for each axis. */
function accuracyOf({ eph, epx, epy }: Record<string, unknown>): number | undefined {
  if (typeof eph === 'number') return eph
  return typeof epx === 'number' && typeof epy === 'number' ? Math.hypot(epx, epy) : undefined
}
