/**
 * The reference of metrics, from what each daemon declares. Only the declarations are read: nothing is measured, so the parts that
 * are measured are left out. `tests/system/observe/metrics.test.ts` compares the result with running daemons.
 */
import { grantTypes, identityPaths, methods } from '@selvedge/protocol'
import { httpRoutes as discoveryRoutes } from '../../apps/discovery/src/discovery.ts'
import { measureDiscovery, measureReports, measureSessions } from '../../apps/discovery/src/measure.ts'
import { locationOperations } from '../../apps/discovery/src/stores/measure-locations.ts'
import { measureReplicas } from '../../apps/identity/src/storage/replicas/measure-replicas.ts'
import type { Grant } from '../../apps/identity/src/tokens/grants/grant.ts'
import { measureTokens } from '../../apps/identity/src/tokens/measure-tokens.ts'
import { createMeasures, measureRuntime } from '../../apps/runtime/src/measure.ts'
import { httpRoutes as runtimeRoutes } from '../../apps/runtime/src/runtime.ts'
import {
  createStoreMeasures,
  measureBackup,
  measureCalls,
  measureWritable,
  sqlOperations,
} from '../../packages/service-kit/src/metrics/index.ts'
import { startMetrics } from '../../packages/service-kit/src/metrics/metrics.lazy.ts'
import {
  bucketSeconds,
  type Declared,
  type Metrics,
} from '../../packages/service-kit/src/metrics/registry.ts'
import { measureExport } from '../../packages/service-kit/src/otel/measure-export.ts'

/** A part that is measured, which nothing reads here. */
const unread = {} as never
const none = () => 0

function declareRuntime(metrics: Metrics): void {
  createMeasures(metrics)
  measureCalls(metrics, Object.keys(methods))
  measureRuntime(metrics, unread, unread, unread)
}

function declareIdentity(metrics: Metrics): void {
  createStoreMeasures(metrics, sqlOperations)
  measureReplicas(metrics, { replicas: none, ageSeconds: none })
  measureBackup(metrics, '', unread)
  measureWritable(metrics, unread)
  const grants = Object.values(grantTypes).map((grantType) => ({ ...(unread as Grant), grantType }))
  measureTokens(metrics, { grants, edgeMint: unread, storeUnderWay: none })
}

function declareDiscovery(metrics: Metrics): void {
  createStoreMeasures(metrics, [...sqlOperations, ...locationOperations])
  measureReports(unread, metrics)
  measureSessions(unread, metrics)
  measureBackup(metrics, '', unread)
  measureWritable(metrics, unread)
  measureDiscovery(metrics, unread)
}

const daemons = [
  ['runtime', runtimeRoutes, declareRuntime],
  ['identity', Object.values(identityPaths), declareIdentity],
  ['discovery', discoveryRoutes, declareDiscovery],
] as const

/** The families of a daemon, in the order of its `/metrics`. */
function declarationsOf(routes: readonly string[], declare: (metrics: Metrics) => void): readonly Declared[] {
  const running = startMetrics({ alarms: unread, routes, workload: unread })
  measureExport(running.metrics, none)
  declare(running.metrics)
  const declared = running.declared()
  running.stop()
  return declared
}

/** A family, as each daemon that has it declares it. */
type Family = readonly { readonly daemon: string; readonly declared: Declared }[]

const families = new Map<string, Family>()
for (const [daemon, routes, declare] of daemons)
  for (const declared of declarationsOf(routes, declare))
    families.set(declared.name, [...(families.get(declared.name) ?? []), { daemon, declared }])

const units: readonly (readonly [RegExp, string])[] = [
  [/_seconds(?:_total)?$/, 'seconds'],
  [/_bytes$/, 'bytes'],
]
const unitOf = (name: string): string => units.find(([ending]) => ending.test(name))?.[1] ?? 'count'

/** What daemons have in common once, and what differs for each. @returns pairs of daemon, or "" for all, and text */
function perDaemon(family: Family, shown: (declared: Declared) => string): (readonly [string, string])[] {
  const texts = family.map(({ daemon, declared }) => [daemon, shown(declared)] as const)
  const [[, first] = ['', '']] = texts
  if (texts.every(([, text]) => text === first)) return [['', first]]
  return texts
}

const valuesOf = ({ labels, hasOther }: Declared, label: string): string =>
  [...(labels[label] ?? []), ...(hasOther ? ['other'] : [])].map((value) => `\`${value}\``).join(', ')

function describeFamily(family: Family): string {
  const [{ declared }] = family as [Family[number]]
  const { name, type, labels } = declared
  return [
    `## ${name}`,
    ...perDaemon(family, ({ help }) => help).map(([daemon, help]) =>
      daemon === '' ? help : `${daemon}: ${help}`,
    ),
    [
      `- Type: ${type}`,
      `- Unit: ${unitOf(name)}`,
      `- Daemons: ${family.map(({ daemon }) => daemon).join(', ')}`,
      ...Object.keys(labels).flatMap((label) =>
        perDaemon(family, (each) => valuesOf(each, label)).map(
          ([daemon, values]) => `- Label \`${label}\`${daemon === '' ? '' : ` (${daemon})`}: ${values}`,
        ),
      ),
    ].join('\n'),
  ].join('\n\n')
}

export const metricsPage = [
  '# Metrics',
  'With `metrics.listen`, a daemon serves these at `/metrics` in the format of Prometheus; with `otel.endpoint`, it sends the same to a collector. Labels have the values that are listed here and no others: a value that a caller invents counts as `other`. No label is a node, an account, a client, a person or a container.',
  `Histograms have buckets up to ${bucketSeconds.join(', ')} seconds. A counter and a histogram show a combination of labels from its first event on. A value that is not known is absent.`,
  ...[...families.values()].map(describeFamily),
].join('\n\n')
