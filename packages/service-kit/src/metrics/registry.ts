/**
 * Counters, gauges and histograms with labels of declared values. A family has one number for each combination of them, and one
 * for `other`, from the start: whatever a caller sends, no series is added and no text of a caller becomes a label.
 */
import { reportFailure } from '../safely/safely.ts'

/** The values that each label may have, besides `other`. A family has two labels at most. */
type Labels = Readonly<Record<string, readonly string[]>>

export interface Counter {
  /** Adds one. @param values one for each label; a value that is not declared counts as `other` */
  count(...values: readonly [first?: string, second?: string]): void
}

export interface Histogram {
  /** @param seconds not negative */
  observe(seconds: number, first?: string, second?: string): void
}

/** What a daemon measures; all names begin with `selvedge_` or `process_`. Present only while something reads it. */
export interface Metrics {
  counter(name: string, help: string, labels?: Labels): Counter
  /** Durations, in buckets from 0.5 ms to 10 s. */
  histogram(name: string, help: string, labels?: Labels): Histogram
  /** @param read returns the present value; undefined: unknown. A failure is reported, and the value left out */
  gauge(name: string, help: string, read: () => number | undefined): void
  /** One value for each value of a label. @param read those that are known */
  gauges(name: string, help: string, labels: Labels, read: () => Readonly<Record<string, number>>): void
  /** A total that something else counts. */
  total(name: string, help: string, read: () => number | undefined): void
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface Distribution {
  readonly labels: Readonly<Record<string, string>>
  /** Observations in each bucket of {@link bucketSeconds}, not cumulative; the last one is for all that are longer. */
  readonly counts: readonly number[]
  readonly sum: number
}

export type Family = { readonly name: string; readonly help: string } & (
  | { readonly type: 'counter' | 'gauge'; readonly samples: readonly Sample[] }
  | { readonly type: 'histogram'; readonly distributions: readonly Distribution[] }
)

/** A family as it was declared, without its numbers. */
export interface Declared {
  readonly name: string
  readonly help: string
  readonly type: Family['type']
  readonly labels: Labels
  /** Whether a value that is not declared counts as `other`. */
  readonly hasOther: boolean
}

export interface Registry extends Metrics {
  declared(): readonly Declared[]
  /** All families with their present values, in the order of their declaration. */
  collect(): readonly Family[]
}

/** Upper limits of the buckets. */
export const bucketSeconds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const

const bucketCount = bucketSeconds.length + 1
/** The numbers of one combination in a histogram: its buckets and its sum. */
const width = bucketCount + 1
/** The label of every value that is not declared. */
const otherValue = 'other'

export function createRegistry(): Registry {
  const families: (() => Family)[] = []
  const declared = new Map<string, Declared>()

  const declare = (own: Declared, collect: () => Family) => {
    const { name } = own
    if (declared.has(name)) throw new Error(`the metric ${name} is declared twice`)
    declared.set(name, own)
    families.push(collect)
  }
  const declareReading = (
    type: 'counter' | 'gauge',
    { name, help, labels = {} }: { name: string; help: string; labels?: Labels },
    read: () => readonly Sample[],
  ) =>
    declare({ name, help, type, labels, hasOther: false }, () => ({
      name,
      help,
      type,
      samples: readOr(name, read, []),
    }))
  const alone = (value: number | undefined): readonly Sample[] =>
    value === undefined || !Number.isFinite(value) ? [] : [{ labels: {}, value }]

  return {
    counter(name, help, labels = {}) {
      const { counter, samples } = createCounter(createSeries(labels))
      const type = 'counter'
      declare({ name, help, type, labels, hasOther: true }, () => ({ name, help, type, samples: samples() }))
      return counter
    },
    histogram(name, help, labels = {}) {
      const { histogram, distributions } = createHistogram(createSeries(labels))
      const type = 'histogram'
      declare({ name, help, type, labels, hasOther: true }, () => ({
        name,
        help,
        type,
        distributions: distributions(),
      }))
      return histogram
    },
    gauge: (name, help, read) => declareReading('gauge', { name, help }, () => alone(read())),
    total: (name, help, read) => declareReading('counter', { name, help }, () => alone(read())),
    gauges(name, help, labels, read) {
      const [[label, known] = ['', []]] = Object.entries(labels)
      declareReading('gauge', { name, help, labels }, () => {
        const values = read()
        return known.flatMap((each) =>
          values[each] === undefined ? [] : [{ labels: { [label]: each }, value: values[each] }],
        )
      })
    },
    collect: () => families.map((collect) => collect()),
    declared: () => [...declared.values()],
  }
}

/** Combinations that were never counted are not shown. */
function createCounter(series: Series): { counter: Counter; samples: () => Sample[] } {
  const values = new Float64Array(series.size)
  return {
    counter: {
      count(first, second) {
        const at = series.at(first, second)
        values[at] = values[at]! + 1
      },
    },
    samples: () =>
      series.list
        .map((labels, at) => ({ labels, value: values[at]! }))
        .filter(({ value }) => value > 0 || series.size === 1),
  }
}

/** Combinations without an observation are not shown. */
function createHistogram(series: Series): { histogram: Histogram; distributions: () => Distribution[] } {
  const values = new Float64Array(series.size * width)
  return {
    histogram: {
      observe(seconds, first, second) {
        const start = series.at(first, second) * width
        let bucket = 0
        while (bucket < bucketSeconds.length && seconds > bucketSeconds[bucket]!) bucket++
        values[start + bucket] = values[start + bucket]! + 1
        values[start + bucketCount] = values[start + bucketCount]! + seconds
      },
    },
    distributions: () =>
      series.list.flatMap((labels, at) => {
        const counts = [...values.subarray(at * width, at * width + bucketCount)]
        const isEmpty = counts.every((count) => count === 0)
        return isEmpty ? [] : [{ labels, counts, sum: values[(at + 1) * width - 1]! }]
      }),
  }
}

function readOr<T>(name: string, read: () => T, fallback: T): T {
  try {
    return read()
  } catch (cause) {
    reportFailure(`metrics.${name}`, cause)
    return fallback
  }
}

interface Series {
  readonly size: number
  /** The labels of each number. */
  readonly list: readonly Readonly<Record<string, string>>[]
  /** Index of the number for these values. */
  at(first?: string, second?: string): number
}

/** Every combination of the declared values, and `other` for each label. */
function createSeries(labels: Labels): Series {
  const entries = Object.entries(labels)
  if (entries.length > 2) throw new Error('a metric has two labels at most')
  const [[firstName, firstValues] = ['', []], [secondName, secondValues] = ['', []]] = entries
  const indexOf = (values: readonly string[]) => new Map(values.map((value, at) => [value, at + 1]))
  const firstIndex = indexOf(firstValues)
  const secondIndex = indexOf(secondValues)
  const secondSize = entries.length === 2 ? secondValues.length + 1 : 1
  const all = (isUsed: boolean, values: readonly string[]) => (isUsed ? [otherValue, ...values] : [''])
  const list = all(entries.length > 0, firstValues).flatMap((first) =>
    all(entries.length > 1, secondValues).map((second) => ({
      ...(entries.length > 0 && { [firstName]: first }),
      ...(entries.length > 1 && { [secondName]: second }),
    })),
  )
  return {
    size: list.length,
    list,
    at: (first, second) =>
      (firstIndex.get(first as string) ?? 0) * secondSize + (secondIndex.get(second as string) ?? 0),
  }
}
