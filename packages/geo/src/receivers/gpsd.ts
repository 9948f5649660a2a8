/** The JSON protocol of gpsd (gpsd_json(5)): reports of the class TPV. */
import { createLineSplitter } from '@selvedge/protocol/lines'
import { isSound, type Reading, type ReceiverReader } from './reading.ts'

/** Requests reports; sent once per connection. */
export const watchCommand = '?WATCH={"enable":true,"json":true};\n'

/** A list of satellites is the longest report. */
const longest = 32_768

export function createGpsdReader(): ReceiverReader {
  const split = createLineSplitter({ maxLine: longest, longer: 'drop', ends: 'any' })
  function readAll(lines: readonly string[]): Reading[] {
    const readings: Reading[] = []
    for (const line of lines) {
      if (!line.includes('"TPV"')) continue
      const json = parseLine(line)
      // An exception costs as much as a hundred lines: so lines that arrive together with a damaged line are skipped with it.
      if (json === undefined) break
      const reading = readReport(json)
      if (reading) readings.push(reading)
    }
    return readings
  }
  return Object.assign((chunk: string) => readAll(split(chunk)), { end: () => readAll(split.end()) })
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function readReport(json: unknown): Reading | undefined {
  const report = (json ?? {}) as Record<string, unknown>
  const { class: kind, mode, lon, lat, speed = 0, track = 0, time } = report
  if (kind !== 'TPV' || (mode !== 2 && mode !== 3)) return undefined
  if (typeof lon !== 'number' || typeof lat !== 'number') return undefined
  if (typeof speed !== 'number' || typeof track !== 'number') return undefined
  const accuracy = accuracyOf(report)
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
