/** `npm run bench [rows…]`: measures, prints a table and writes bench/results.json. Figures are ratios of one run on one machine. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Row, root } from './measure.ts'
import { authorizeRows } from './rows/authorize.ts'
import { clusterRows } from './rows/cluster.ts'
import { containerRows } from './rows/containers.ts'
import { devRows } from './rows/dev.ts'
import { eventRows } from './rows/events.ts'
import { federatedRows } from './rows/federated.ts'
import { footprintRows } from './rows/footprint.ts'
import { gatewayRows } from './rows/gateway.ts'
import { gpsRows } from './rows/gps.ts'
import { locationRows } from './rows/locations.ts'
import { observedRows } from './rows/observed.ts'
import { ociRows } from './rows/oci.ts'
import { peopleRows } from './rows/people.ts'
import { pullRows } from './rows/pull.ts'
import { reportRows } from './rows/reports.ts'
import { rpcRows } from './rows/rpc.ts'
import { tokenRows } from './rows/token.ts'
import { upgradeRows } from './rows/upgrade.ts'

const groups = {
  rpc: rpcRows,
  observed: observedRows,
  token: tokenRows,
  authorize: authorizeRows,
  federated: federatedRows,
  people: peopleRows,
  gps: gpsRows,
  reports: reportRows,
  locations: locationRows,
  cluster: clusterRows,
  gateway: gatewayRows,
  containers: containerRows,
  oci: ociRows,
  pull: pullRows,
  dev: devRows,
  events: eventRows,
  footprint: footprintRows,
  upgrade: upgradeRows,
}
const wanted = process.argv.slice(2)
const unknown = wanted.find((name) => !Object.hasOwn(groups, name))
if (unknown !== undefined) {
  process.stderr.write(`error: there are no rows "${unknown}"; known are ${Object.keys(groups).join(', ')}\n`)
  process.exit(2)
}

const show = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 4 })
const rows: Row[] = []
for (const [name, measure] of Object.entries(groups)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  process.stderr.write(`measuring ${name} …\n`)
  rows.push(...(await measure()))
}
for (const { name, ours, peer, ratio, unit, against, reach, reached } of rows) {
  const verdict = reached === null ? 'reported' : reached ? 'reached' : 'MISSED'
  process.stdout.write(
    `${verdict.padEnd(9)} ${name}: ${show(ours)} against ${show(peer)} ${unit}; ratio ${show(ratio)}, wanted ${reach} (${against})\n`,
  )
}
if (wanted.length === 0)
  writeFileSync(join(root, 'bench/results.json'), `${JSON.stringify(rows, undefined, 2)}\n`)
