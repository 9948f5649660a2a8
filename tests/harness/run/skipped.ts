import programs from '../programs.json' with { type: 'json' }
import type { Outcomes } from './outcomes.ts'

/** How many tests without a stated need are named. */
const maxNamed = 10

/** @returns a line for each set of missing programs, with what installs them; then the tests that name no need */
export function describeSkipped({ files }: Outcomes): string[] {
  const byNeed = new Map<string, number>()
  const others: string[] = []
  for (const { missing, unnamed } of Object.values(files)) {
    for (const [need, { length }] of Object.entries(missing))
      byNeed.set(need, (byNeed.get(need) ?? 0) + length)
    others.push(...unnamed)
  }
  const lines = [...byNeed]
    .sort(([, one], [, two]) => two - one)
    .map(([need, count]) => `skipped ${count}, missing ${need}: ${remedyOf(need.split(', '))}`)
  const named = others.slice(0, maxNamed).map((name) => `skipped: ${name}`)
  const more = others.length > maxNamed ? [`skipped: ${others.length - maxNamed} more`] : []
  return [...lines, ...named, ...more]
}

const rights: Readonly<Record<string, string>> = {
  'package tools': 'npm ci --prefix tests/system/packages/tools',
  'client libraries': 'npm ci --prefix tests/system/clients/libraries',
  'image tools': 'npm ci --prefix tests/system/services/image-tools',
  'npm packages': 'npm ci --prefix tests/system/services/npm-packages',
  root: 'run as root',
  networks: 'run as root where network namespaces can be made',
  'user IDs': "echo 'containers:2147483647:2147483648' | tee -a /etc/subuid /etc/subgid",
  mounts: 'run as root where file systems can be mounted',
}

/** What to do about needs that are not met: the line that installs the programs, and how to get the rights. */
function remedyOf(missing: readonly string[]): string {
  const packages = missing.flatMap((each) => programs[each as keyof typeof programs] ?? [])
  const needed = missing.flatMap((each) => rights[each] ?? [])
  return [...(packages.length > 0 ? [`apt-get install ${packages.join(' ')}`] : []), ...needed].join('; ')
}
