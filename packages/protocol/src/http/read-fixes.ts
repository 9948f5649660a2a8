import { type Fix, fixSources, maxFixes, maxTime } from './discovery.ts'

const members: ReadonlySet<string> = new Set([
  'longitude',
  'latitude',
  'speed',
  'bearing',
  'fixedAt',
  'accuracy',
  'source',
])

/**
 * What `fixReport` accepts, checked by hand: every device of a fleet passes here, and the schema takes five times as long. A
 * test holds both to the same.
 *
 * @returns undefined if it is not a report
 */
export function readFixes(json: unknown): readonly Fix[] | undefined {
  if (!Array.isArray(json)) {
    const only = readFix(json)
    return only && [only]
  }
  if (json.length > maxFixes) return undefined
  const fixes: Fix[] = []
  for (const each of json) {
    const fix = readFix(each)
    if (!fix) return undefined
    fixes.push(fix)
  }
  return fixes
}

const within = (value: unknown, least: number, most: number): value is number =>
  typeof value === 'number' && value >= least && value <= most

function readFix(json: unknown): Fix | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined
  const given = json as { readonly [Name in keyof Fix]?: unknown }
  for (const name in given) if (!members.has(name)) return undefined
  const { longitude, latitude, speed, bearing, fixedAt, accuracy, source = 'api' } = given
  if (!within(longitude, -180, 180) || !within(latitude, -90, 90)) return undefined
  if (!within(speed, 0, Number.MAX_VALUE) || !within(bearing, 0, 360) || bearing === 360) return undefined
  if (!within(fixedAt, 0, maxTime) || !Number.isInteger(fixedAt)) return undefined
  if (accuracy !== undefined && !within(accuracy, 0, Number.MAX_VALUE)) return undefined
  if (!(fixSources as readonly unknown[]).includes(source)) return undefined
  const fix = { longitude, latitude, speed, bearing, fixedAt, source: source as Fix['source'] }
  return accuracy === undefined ? fix : { ...fix, accuracy }
}
