/** A location as a receiver reports it. */
export interface Reading {
  /** Degrees, WGS 84. */
  readonly longitude: number
  readonly latitude: number
  /** Metres per second; 0 if the receiver does not report it. */
  readonly speed: number
  /** Degrees clockwise from true north, from 0 up to, but not including, 360; 0 if the receiver does not report it. */
  readonly bearing: number
  /** Metres within which the place is right in 95 of 100 cases; left out where the receiver does not say. */
  readonly accuracy?: number
  /** 2: without height, 3: with it. */
  readonly mode: 2 | 3
  /** When it was so by the receiver's own clock, Unix milliseconds. */
  readonly time?: number
}

/** Parses bytes as they arrive and returns completed readings. Skips damaged data. */
export type ReceiverReader = (chunk: string) => Reading[]

/**
 * Cuts a stream into lines, however its chunks fall; what is longer than any sane line is dropped up to its end.
 *
 * @param longest characters of a line
 * @param trim removes what comes before the beginning of a message, from a line or a part of one: the rest of a line that was too long
 *   may hold a message
 */
export function createLineSplitter(
  longest: number,
  trim?: (line: string) => string,
): (chunk: string) => string[] {
  const trimmed = (line: string) => trim?.(line) ?? line
  let rest = ''
  let isDropping = false
  return (chunk) => {
    const lines = (rest + chunk).split(/\r\n|\n|\r/)
    rest = trimmed(lines.pop()!)
    if (isDropping && lines.length > 0) {
      lines.shift()
      isDropping = false
    }
    if (rest.length > longest) {
      rest = ''
      isDropping = trim === undefined
    }
    return lines.map(trimmed).filter((line) => line.length <= longest)
  }
}

const isPlace = (longitude: number, latitude: number): boolean =>
  Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90

/** Whether every number of a reading is finite and in its range: `1e999` is a number in JSON, and infinite. */
export const isSound = ({ longitude, latitude, speed, bearing, accuracy = 0 }: Reading): boolean =>
  isPlace(longitude, latitude) && isLength(speed) && isLength(accuracy) && bearing >= 0 && bearing < 360

const isLength = (value: number): boolean => value >= 0 && value <= Number.MAX_VALUE
