/** The networks and registries over which an image is pulled. */
import type { RegistryOptions } from './registry.ts'

export interface Condition extends Omit<RegistryOptions, 'name'> {
  /** The first cell of its row. */
  readonly title: string
  /** The puller is killed so often, after equal parts of the bytes, and started again each time. */
  readonly kills?: number
  /** After half of the bytes, the registry is down for so many seconds. */
  readonly downSeconds?: number
}

const partOf = (size: number): number => Math.floor(size * 0.6)
/** 1/50 of the largest layer. */
const fiftiethBytes = 400_000
/** Layers fail the first time only. */
const firstTime =
  (fault: Condition['fault'], later: Condition['fault'] = () => ({})): Condition['fault'] =>
  (asked) =>
    asked.earlier === 0 ? fault(asked) : later(asked)
const cut: Condition['fault'] = ({ size }) => ({ cutAfterBytes: partOf(size) })

export const conditions = {
  sound: { title: 'no fault', fault: () => ({}) },
  cuts: { title: 'each connection is cut after 60 % of its layer', fault: cut },
  fiftieths: {
    title: 'each connection is cut after 1/50 of the largest layer',
    fault: () => ({ cutAfterBytes: fiftiethBytes }),
  },
  withoutRanges: {
    title: 'one cut at 60 % of each layer; a range is answered with 200 and all bytes',
    fault: firstTime(cut, () => ({ isWithoutRanges: true })),
  },
  otherBytes: {
    title: 'one cut at 60 % of each layer; a range is answered with other bytes',
    fault: firstTime(cut, () => ({ hasOtherBytes: true })),
  },
  busy: {
    title: '429 with `Retry-After: 2`, three times for each layer',
    fault: ({ earlier }) => (earlier < 3 ? { retryAfterSeconds: 2 } : {}),
  },
  busyLong: {
    title: '429 with `Retry-After: 2`, six times for each layer',
    fault: ({ earlier }) => (earlier < 6 ? { retryAfterSeconds: 2 } : {}),
  },
  silent: {
    title: 'a connection sends nothing more after 60 % of its layer, and stays open',
    fault: firstTime(({ size }) => ({ silentAfterBytes: partOf(size) })),
  },
  down: {
    title: 'the registry is down for 30 s after half of the bytes',
    fault: () => ({}),
    downSeconds: 30,
  },
  token: {
    title: 'the token expires after 60 s, as announced; one cut at 60 % of each layer after that',
    fault: firstTime(({ size }) => ({ cutAfterBytes: partOf(size), bytesPerSecond: partOf(size) / 70 })),
    tokenSeconds: 60,
  },
  kill: {
    title: 'the program is killed after half of the bytes, and started again',
    // Slowly: what is in the buffers of its connections is lost.
    fault: () => ({ bytesPerSecond: 2_000_000 }),
    kills: 1,
  },
  kills: {
    title: 'the program is killed 20 times, after equal parts of the bytes, and started again each time',
    fault: () => ({ bytesPerSecond: 1_000_000 }),
    kills: 20,
  },
  slow: {
    title: 'an image with one layer of 100 kB, at 8 kB/s',
    fault: () => ({ bytesPerSecond: 8000 }),
    layerBytes: [100_000],
  },
} as const satisfies Record<string, Condition>
