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

/** Parses text as it arrives and returns completed readings. Skips damaged data. */
export interface ReceiverReader {
  (chunk: string): Reading[]
  /** To be called after the last part: what came last may complete a reading. */
  end(): Reading[]
}

const isPlace = (longitude: number, latitude: number): boolean =>
  Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90

/** Whether every number of a reading is finite and in its range: `1e999` is a number in JSON, and infinite. */
export const isSound = ({ longitude, latitude, speed, bearing, accuracy = 0 }: Reading): boolean =>
  isPlace(longitude, latitude) && isLength(speed) && isLength(accuracy) && bearing >= 0 && bearing < 360

const isLength = (value: number): boolean => value >= 0 && value <= Number.MAX_VALUE
