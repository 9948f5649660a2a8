/** The text that Prometheus reads (exposition format 0.0.4). */
import { bucketSeconds, type Family } from './registry.ts'

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

/** @param families their names and labels are fixed in the code: no text of a caller is in them */
export function exposition(families: readonly Family[]): string {
  return families
    .map((family) => {
      const { name, help, type } = family
      const lines =
        family.type === 'histogram'
          ? family.distributions.flatMap((each) => linesOf(name, each))
          : family.samples.map(({ labels, value }) => `${name}${shown(labels)} ${value}\n`)
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
    })
    .join('')
}

/** Buckets count everything up to their limit, the shorter observations included. */
function linesOf(
  name: string,
  { labels, counts, sum }: Extract<Family, { type: 'histogram' }>['distributions'][number],
): string[] {
  let count = 0
  const buckets = counts.map((each, at) => {
    count += each
    return `${name}_bucket${shown({ ...labels, le: String(bucketSeconds[at] ?? '+Inf') })} ${count}\n`
  })
  return [...buckets, `${name}_sum${shown(labels)} ${sum}\n`, `${name}_count${shown(labels)} ${count}\n`]
}

function shown(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
