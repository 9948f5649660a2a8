/**
 * NMEA 0183: the sentences RMC, GGA, GNS, GLL, GSA and VTG of any talker. Other sentences, and those with a wrong checksum, are
 * skipped.
 */
import { createLineSplitter } from '@selvedge/protocol/lines'
import { isSound, type Reading, type ReceiverReader } from './reading.ts'

/** The standard allows 82 characters; receivers send longer ones. */
const longest = 256
const knot = 1852 / 3600
/** Metres of a dilution of precision of 1, in 95 of 100 cases: the figure of gpsd (H_UERE_NO_DGPS). */
const error95 = 19

/** What is known of one moment: the sentences with the same time of day. */
interface Epoch {
  time: string
  place?: { longitude: number; latitude: number }
  speed?: number
  bearing?: number
  date?: string
  /** Declared invalid by any of its sentences. */
  isVoid: boolean
  isTold: boolean
}

export function createNmeaReader(): ReceiverReader {
  const split = createLineSplitter({ maxLine: longest, longer: 'drop', ends: 'any', trim: fromLastStart })
  let epoch = newEpoch('')
  /** Of the last GSA, which carries no time. */
  let mode: 1 | 2 | 3 | undefined
  let dilution: number | undefined

  /** Starts a new fix if the time of a sentence differs. */
  function enter(time: string, out: Reading[]): void {
    if (time === '' || time === epoch.time) return
    // A receiver without RMC: a fix is complete when the next one begins.
    if (!epoch.isTold) tell(out)
    epoch = newEpoch(time)
  }

  function tell(out: Reading[]): void {
    if (mode === 1) epoch.isVoid = true
    const { place, isVoid, isTold } = epoch
    if (!place || isVoid || isTold || mode === 1) return
    epoch.isTold = true
    const time = timeOf(epoch.date, epoch.time)
    out.push({
      ...place,
      speed: epoch.speed ?? 0,
      bearing: epoch.bearing ?? 0,
      ...(dilution !== undefined && { accuracy: dilution * error95 }),
      mode: mode ?? 2,
      ...(time !== undefined && { time }),
    })
  }

  function read(line: string, out: Reading[]): void {
    const fields = checked(line)
    if (!fields) return
    const kind = fields[0]!.slice(-3)
    if (kind === 'RMC') {
      enter(fields[1]!, out)
      if (fields[2] !== 'A' || fields[12] === 'N') epoch.isVoid = true
      Object.assign(epoch, placed(fields, 3))
      if (fields[7]) epoch.speed = Number(fields[7]) * knot
      if (fields[8]) epoch.bearing = wrap(Number(fields[8]))
      if (fields[9]) epoch.date = fields[9]
      tell(out)
    } else if (kind === 'GGA' || kind === 'GNS') {
      enter(fields[1]!, out)
      // GNS has a mode for each system: any letter except N is a fix.
      if (kind === 'GGA' ? fields[6] === '0' || fields[6] === '' : !/[^N]/.test(fields[6] ?? ''))
        epoch.isVoid = true
      if (fields[8]) dilution = dilutionOf(fields[8])
      Object.assign(epoch, placed(fields, 2))
    } else if (kind === 'GLL') {
      enter(fields[5]!, out)
      if (fields[6] !== 'A') epoch.isVoid = true
      Object.assign(epoch, placed(fields, 1))
    } else if (kind === 'GSA') {
      const told = Number(fields[2])
      mode = told === 1 || told === 2 || told === 3 ? told : undefined
      if (fields[16]) dilution = dilutionOf(fields[16])
    } else if (kind === 'VTG') {
      if (fields[1]) epoch.bearing = wrap(Number(fields[1]))
      if (fields[5]) epoch.speed = Number(fields[5]) * knot
    }
  }

  function readAll(lines: readonly string[], isLast = false): Reading[] {
    const out: Reading[] = []
    for (const line of lines) read(line, out)
    // A receiver without RMC: no later time completes the last fix.
    if (isLast) tell(out)
    return out.filter(isSound)
  }
  return Object.assign((chunk: string) => readAll(split(chunk)), { end: () => readAll(split.end(), true) })
}

/** What a receiver or a logger writes before a sentence, such as binary messages, is no part of it. Empty: there is no sentence. */
const fromLastStart = (line: string): string => {
  const start = Math.max(line.lastIndexOf('$'), line.lastIndexOf('!'))
  return start < 0 ? '' : line.slice(start)
}

const newEpoch = (time: string): Epoch => ({ time, isVoid: false, isTold: false })

const wrap = (degrees: number): number => (degrees < 360 ? degrees : degrees % 360)

/** The fields of a sentence with the right checksum: all between $ and *, exclusively ored. */
function checked(line: string): string[] | undefined {
  const [, body, sum] = /^\$([A-Z]{2}[A-Z]{3},[^*$]*)\*([0-9A-Fa-f]{2})\s*$/.exec(line) ?? []
  if (body === undefined) return undefined
  let xor = 0
  for (let at = 0; at < body.length; at++) xor ^= body.charCodeAt(at)
  return xor === Number.parseInt(sum!, 16) ? body.split(',') : undefined
}

/** Receivers write 99.99 for an unknown value; what is far beyond it is no dilution. */
function dilutionOf(text: string): number | undefined {
  const value = Number(text)
  return value >= 0 && value < 10_000 ? value : undefined
}

/** Latitude, N or S, longitude, E or W, from one field on. */
function placed(fields: readonly string[], from: number): Pick<Epoch, 'place'> {
  const latitude = degreesOf(fields[from], 2, fields[from + 1], 'NS')
  const longitude = degreesOf(fields[from + 2], 3, fields[from + 3], 'EW')
  return latitude === undefined || longitude === undefined ? {} : { place: { longitude, latitude } }
}

/** `4807.038` is 48 degrees and 7.038 minutes. */
function degreesOf(text = '', digits: number, side = '', sides: string): number | undefined {
  if (
    !/^\d+(?:\.\d*)?$/.test(text) ||
    text.split('.')[0]!.length !== digits + 2 ||
    !sides.includes(side || '?')
  )
    return undefined
  const minutes = Number(text.slice(digits))
  if (minutes >= 60) return undefined
  const degrees = Number(text.slice(0, digits)) + minutes / 60
  return side === sides[0] ? degrees : -degrees
}

/** `hhmmss.sss` of `ddmmyy`; years up to 79 are of this century (as gpsd has it). */
function timeOf(date: string | undefined, time: string): number | undefined {
  const [, day, month, year] = /^(\d\d)(\d\d)(\d\d)$/.exec(date ?? '') ?? []
  const [, hour, minute, second] = /^(\d\d)(\d\d)(\d\d(?:\.\d*)?)$/.exec(time) ?? []
  if (day === undefined || hour === undefined) return undefined
  const century = Number(year) < 80 ? 2000 : 1900
  return Math.round(
    Date.UTC(century + Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute)) +
      Number(second) * 1000,
  )
}
