import { createGpsdReader, createNmeaReader, type Reading } from '@selvedge/geo/receivers'
import { mutateJson } from '../engine/mutate-json.ts'
import type { Mutator } from '../engine/target.ts'
import { expectThat, type Target } from '../engine/target.ts'
import { inChunks } from './chunks.ts'

const sum = (body: string): string => {
  let xor = 0
  for (let at = 0; at < body.length; at++) xor ^= body.charCodeAt(at) & 0xff
  return `$${body}*${xor.toString(16).toUpperCase().padStart(2, '0')}`
}
const sentences = [
  'GPRMC,123519.00,A,4807.038,N,01131.000,E,022.4,084.4,230394,,,A',
  'GPGGA,123519.00,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,',
  'GNGNS,123520.00,4807.038,S,01131.000,W,AN,08,0.9,545.4,46.9,,',
  'GPGLL,4916.45,N,12311.12,W,225444,A,',
  'GPGSA,A,3,04,05,,09,12,,,24,,,,,2.5,1.3,2.1',
  'GPVTG,054.7,T,034.4,M,005.5,N,010.2,K',
]
const lines = (list: readonly string[]) => Buffer.from(list.map((each) => `${sum(each)}\r\n`).join(''))

/** Makes the checksum of every sentence right again. */
const checksum: Mutator = (input) =>
  Buffer.from(
    input
      .toString('latin1')
      .split('\n')
      .map((line) => (line.startsWith('$') ? sum(line.slice(1).split('*')[0]!) : line))
      .join('\n'),
    'latin1',
  )

/** Changes one field of one sentence, and its checksum with it. */
const setField: Mutator = (input, random) => {
  const all = input.toString('latin1').split('\n')
  const at = random.below(all.length)
  const fields = all[at]!.replace('$', '').split('*')[0]!.split(',')
  fields[random.below(fields.length)] = random.pick([
    '',
    '0',
    '-1',
    'A',
    'V',
    'N',
    'NaN',
    '1e308',
    '9'.repeat(40),
    '4860.000',
    '99999.9',
  ])
  all[at] = sum(fields.join(','))
  return Buffer.from(all.join('\n'), 'latin1')
}

function expectSound({ longitude, latitude, speed, bearing, accuracy = 0, time = 0 }: Reading): void {
  expectThat(Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90, `the place is ${longitude}, ${latitude}`)
  expectThat(Number.isFinite(speed) && speed >= 0, `the speed is ${speed}`)
  expectThat(bearing >= 0 && bearing < 360, `the bearing is ${bearing}`)
  expectThat(Number.isFinite(accuracy) && accuracy >= 0, `the accuracy is ${accuracy}`)
  expectThat(Number.isFinite(time), `the time is ${time}`)
}

const receiver = (
  name: string,
  create: typeof createNmeaReader,
  rest: Pick<Target, 'seeds' | 'mutators' | 'words' | 'covers'>,
): Target => ({
  name,
  ...rest,
  open: () => ({
    parse: (input) => {
      const read = create()
      let found = 0
      const count = (readings: readonly Reading[]) => {
        for (const each of readings) {
          expectSound(each)
          found++
        }
      }
      const calls = inChunks(input, (chunk) => count(read(chunk.toString('latin1'))))
      count(read.end())
      return { outcome: found === 0 ? 'nothing' : 'readings', calls }
    },
  }),
  openStream: () => {
    const read = create()
    return (chunk) => void read(chunk.toString('latin1'))
  },
})

/** NMEA 0183, as a serial receiver sends it. */
export const nmea = receiver('nmea', createNmeaReader, {
  covers: ['packages/geo/src/receivers/nmea.ts', 'packages/geo/src/receivers/reading.ts'],
  seeds: () => [
    lines(sentences),
    ...sentences.map((each) => lines([each])),
    lines(Array(40).fill(sentences).flat()),
  ],
  mutators: [checksum, setField],
  words: ['$GP', '*', ',', '\r\n', ',A,', ',N,'],
})

const reports = [
  { class: 'VERSION', release: '3.25', proto_major: 3 },
  {
    class: 'TPV',
    mode: 3,
    lon: 11.5,
    lat: 48.1,
    speed: 3,
    track: 360,
    eph: 4.5,
    time: '2026-01-01T00:00:00.000Z',
  },
  { class: 'TPV', mode: 2, lon: -1, lat: 2, epx: 1, epy: 2 },
  {
    class: 'SKY',
    satellites: Array.from({ length: 40 }, (_, at) => ({ PRN: at, el: 1, az: 2, ss: 3, used: true })),
  },
]

/** Reports of gpsd, as JSON a line. */
export const gpsd = receiver('gpsd', createGpsdReader, {
  covers: ['packages/geo/src/receivers/gpsd.ts'],
  seeds: () =>
    [
      reports,
      ...reports.map((each) => [each]),
      Array(8).fill(reports).flat(),
      Array(50).fill(reports[1]),
    ].map((list) => Buffer.from(list.map((each) => `${JSON.stringify(each)}\n`).join(''))),
  mutators: [mutateJson],
  words: ['"class":"TPV"', '"mode":3', '"lon":', '"time":"', '\n', 'null\n', '1e309'],
})
