/** Metrics in OTLP 1.x, JSON: totals since the start of the process. */
import { bucketSeconds, type Family } from '../metrics/registry.ts'
import { nanoseconds, text } from './spans.ts'

const cumulative = 2

const attributesOf = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([name, value]) => text(name, value))

export function otlpMetrics(families: readonly Family[]): readonly object[] {
  const times = { startTimeUnixNano: nanoseconds(0), timeUnixNano: nanoseconds(performance.now()) }
  return families.map((family) => {
    const { name, help: description } = family
    if (family.type === 'histogram') {
      const dataPoints = family.distributions.map(({ labels, counts, sum }) => ({
        attributes: attributesOf(labels),
        ...times,
        count: String(counts.reduce((all, each) => all + each, 0)),
        sum,
        bucketCounts: counts.map(String),
        explicitBounds: bucketSeconds,
      }))
      return { name, description, histogram: { dataPoints, aggregationTemporality: cumulative } }
    }
    const dataPoints = family.samples.map(({ labels, value }) => ({
      attributes: attributesOf(labels),
      ...times,
      asDouble: value,
    }))
    return family.type === 'gauge'
      ? { name, description, gauge: { dataPoints } }
      : { name, description, sum: { dataPoints, aggregationTemporality: cumulative, isMonotonic: true } }
  })
}
