import { describe, expect, it } from 'vitest'
import { readRecording, recordings } from '../../../../tests/harness/recordings.ts'
import { distanceBetween } from '../sphere.ts'
import { parseSource } from './follow.ts'
import { createGpsdReader } from './gpsd.ts'
import { createNmeaReader } from './nmea.ts'
import type { Reading } from './reading.ts'

const sum = (body: string) => {
  let xor = 0
  for (const character of body) xor ^= character.charCodeAt(0)
  return `$${body}*${xor.toString(16).toUpperCase().padStart(2, '0')}\r\n`
}
const rmc = (more: { status?: string; place?: string; time?: string; date?: string } = {}) =>
  sum(
    `GPRMC,${more.time ?? '123519.00'},${more.status ?? 'A'},${more.place ?? '4807.038,N,01131.000,E'},022.4,084.4,${more.date ?? '230394'},,,A`,
  )

describe('NMEA 0183', () => {
  it('reads place, speed in metres per second, course and time', () => {
    const [reading] = createNmeaReader()(sum('GPGSA,A,3,04,05,,,,,,,,,,,2.5,1.3,2.1') + rmc())
    expect(reading).toMatchObject({ mode: 3, bearing: 84.4, time: Date.UTC(1994, 2, 23, 12, 35, 19) })
    expect(reading!.latitude).toBeCloseTo(48.1173, 6)
    expect(reading!.longitude).toBeCloseTo(11.516667, 6)
    expect(reading!.speed).toBeCloseTo(11.523556, 6)
    expect(reading!.accuracy).toBeCloseTo(24.7)
  })

  it('puts lines together however the bytes come', () => {
    const read = createNmeaReader()
    const text = rmc() + rmc({ time: '123520.00' })
    const found = [...text].flatMap((character) => read(character))
    expect(found.map((each) => each.time! % 60_000)).toEqual([19_000, 20_000])
  })

  it.each([
    ['a wrong checksum', rmc().replace('4807', '4808')],
    ['no checksum', '$GPRMC,123519.00,A,4807.038,N,01131.000,E,022.4,084.4,230394,,,A\r\n'],
    ['no fix (status V)', rmc({ status: 'V' })],
    ['no fix (GSA mode 1)', sum('GPGSA,A,1,,,,,,,,,,,,,,,') + rmc()],
    ['no fix (GGA quality 0)', sum('GPGGA,123519.00,4807.038,N,01131.000,E,0,00,,,M,,M,,') + rmc()],
    ['a latitude beyond the pole', rmc({ place: '9107.038,N,01131.000,E' })],
    ['minutes of sixty and more', rmc({ place: '4860.000,N,01131.000,E' })],
    ['no place', rmc({ place: ',,,' })],
    ['a speed beyond all numbers', sum('GPRMC,123519.00,A,4807.038,N,01131.000,E,1e999,084.4,230394,,,A')],
    ['a line without end', `$GPRMC,${'1'.repeat(5000)}`],
    ['half a line', rmc().slice(0, 30)],
    ['nothing of NMEA', 'hello\r\n{"class":"TPV"}\r\n\r\n'],
  ])('gives nothing for %s, and the next good sentence', (_, text) => {
    const read = createNmeaReader()
    expect(read(text)).toEqual([])
    const next = sum('GPGSA,A,2,,,,,,,,,,,,,,,') + rmc({ time: '130000.00' })
    expect(read(`\r\n${next}`)).toMatchObject([{ mode: 2 }])
  })

  it.each([
    ['two dollar signs', `$${rmc()}`],
    ['noise before it', `\x00\xff\xb5b$GP!${rmc()}`],
    ['the beginning of another sentence before it', `$GPGGA,1235${rmc()}`],
    ['a time of a logger before it', `2026-01-01 12:00:00 ${rmc()}`],
    ['noise before it that is longer than any line', `$${'\xb5'.repeat(5000)}${rmc()}`],
  ])('reads a sentence with %s', (_, text) => {
    expect(createNmeaReader()(text)).toMatchObject([{ mode: 2 }])
    const read = createNmeaReader()
    expect([...text].flatMap((character) => read(character))).toHaveLength(1)
  })

  it('passes over a sentence that another one has cut off, and what is encapsulated', () => {
    const read = createNmeaReader()
    expect(read(rmc().replace('*', '!*'))).toEqual([])
    expect(read(sum('GPRMC,1').replace('$', '!'))).toEqual([])
    expect(read(rmc())).toHaveLength(1)
  })

  it('leaves out an accuracy that is no number, or none that a receiver can mean', () => {
    for (const dilution of ['1e308', 'x', '-1', '10000']) {
      const [reading] = createNmeaReader()(sum(`GPGSA,A,3,04,05,,,,,,,,,,,2.5,${dilution},2.1`) + rmc())
      expect(reading).toMatchObject({ mode: 3 })
      expect(reading).not.toHaveProperty('accuracy')
    }
  })

  it('reports a moment without RMC when the next one begins', () => {
    const gga = (time: string) => sum(`GPGGA,${time},4807.038,N,01131.000,W,1,08,0.9,545.4,M,46.9,M,,`)
    const read = createNmeaReader()
    expect(read(gga('123519') + sum('GPVTG,054.7,T,034.4,M,005.5,N,010.2,K'))).toEqual([])
    const [reading] = read(gga('123520'))
    expect(reading).toMatchObject({ mode: 2 })
    expect(reading!.bearing).toBeCloseTo(54.7)
    expect(reading!.longitude).toBeCloseTo(-11.516667, 6)
    expect(reading!.speed).toBeCloseTo(2.829, 3)
  })
})

describe('gpsd', () => {
  const tpv = (more: object) => `${JSON.stringify({ class: 'TPV', mode: 3, lon: 1, lat: 2, ...more })}\n`
  it('reads reports with a fix, and passes all else over', () => {
    const read = createGpsdReader()
    expect(read(tpv({ speed: 3, track: 360, eph: 4.5, time: '2026-01-01T00:00:00.000Z' }))).toEqual([
      { longitude: 1, latitude: 2, speed: 3, bearing: 0, accuracy: 4.5, mode: 3, time: Date.UTC(2026, 0) },
    ])
    for (const text of [
      tpv({ mode: 1 }),
      tpv({ lat: 91 }),
      tpv({}).replace('"lon":1', '"lon":1,"track":1e999'),
      tpv({}).replace('"lon":1', '"lon":1,"speed":1e999'),
      tpv({}).replace('"lon":1', '"lon":1,"eph":1e999'),
      tpv({ eph: -1 }),
      tpv({ track: -1 }),
      tpv({ lon: 'x' }),
      '{"class":"SKY"}\n',
      'null\n',
      '{broken\n',
      '{"class":"TPV" broken\n',
      '"TPV"\n',
    ])
      expect(read(text)).toEqual([])
    const half = tpv({})
    expect([...read(half.slice(0, 9)), ...read(half.slice(9))]).toMatchObject([{ speed: 0, mode: 3 }])
  })
})

it.each([
  ['gpsd://127.0.0.1:2947', { kind: 'gpsd', host: '127.0.0.1', port: 2947 }],
  ['gpsd://gps.local', { kind: 'gpsd', host: 'gps.local', port: 2947 }],
  ['gpsd://[::1]:80', { kind: 'gpsd', host: '::1', port: 80 }],
  ['nmea:/dev/ttyUSB0', { kind: 'nmea', path: '/dev/ttyUSB0' }],
  ['nmea:', undefined],
  ['/dev/ttyUSB0', undefined],
  ['gpsd://x/y', undefined],
])('source %s', (text, expected) => expect(parseSource(text)).toEqual(expected))

describe('recorded receivers', () => {
  it.each(recordings)('%s: the positions that gpsd reports, and no other', (name) => {
    const { sentences, positions: theirs } = readRecording(name)
    const own = createNmeaReader()(sentences)
    expect(own.length).toBeGreaterThan(3)
    const isAt = (a: Reading) => (b: Reading) =>
      distanceBetween(a.longitude, a.latitude, b.longitude, b.latitude) < 0.2
    // gpsd waits for the rest of a moment, which the end of a recording may cut off.
    expect(own.slice(0, -1).filter((each) => !theirs.some(isAt(each)))).toEqual([])
    // After a stretch without a fix gpsd accepts the first position, our reader the first one that a GSA sentence confirms.
    const missed = theirs.filter((each) => !own.some(isAt(each)))
    expect(missed.length).toBeLessThanOrEqual(1)
    expect(missed.every((each) => each.mode === 2 && each.accuracy === undefined)).toBe(true)
  })
})

describe('the end of a receiver', () => {
  it('completes a sentence and a report without a line end', () => {
    const nmea = createNmeaReader()
    expect(nmea(rmc().trimEnd())).toEqual([])
    expect(nmea.end()).toHaveLength(1)
    const gpsd = createGpsdReader()
    expect(gpsd('{"class":"TPV","mode":2,"lon":1,"lat":2}')).toEqual([])
    expect(gpsd.end()).toMatchObject([{ longitude: 1, latitude: 2 }])
  })
})
