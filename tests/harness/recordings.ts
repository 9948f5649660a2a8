/** Recorded GNSS receivers of `tests/data/receivers`: what each sent, and the positions that gpsd makes of it. */
import { readFileSync } from 'node:fs'
import type { Reading } from '@selvedge/geo/receivers'

export const recordings = ['bt451', 'bu353s4', 'garmin-10x', 'gps-360'] as const

export interface Recording {
  /** NMEA 0183, each sentence ended as receivers end them. */
  readonly sentences: string
  readonly positions: readonly Reading[]
}

/** @throws Error for an invalid line that begins like a position */
export function readRecording(name: (typeof recordings)[number]): Recording {
  const text = readFileSync(new URL(`../data/receivers/${name}.txt`, import.meta.url), 'latin1')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return {
    sentences: lines
      .filter((line) => !line.startsWith('= '))
      .map((line) => `${line}\r\n`)
      .join(''),
    positions: lines.filter((line) => line.startsWith('= ')).map(readPosition),
  }
}

function readPosition(line: string): Reading {
  const [time = '', ...columns] = line.slice(2).split(' ')
  const [mode, longitude, latitude, speed, bearing] = columns.map(Number)
  const accuracy = columns[5]
  if (columns.length !== 6 || (mode !== 2 && mode !== 3)) throw new Error(`not a position: ${line}`)
  return {
    mode,
    longitude: longitude!,
    latitude: latitude!,
    speed: speed!,
    bearing: bearing!,
    ...(accuracy !== '-' && { accuracy: Number(accuracy) }),
    ...(time !== '-' && { time: Date.parse(time) }),
  }
}
