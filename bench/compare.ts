/**
 * `npm run bench compare <before> <after>`: what two built checkouts of this repository cost, in CPU microseconds of a request. Both
 * run at the same time and are measured in turn, seven rounds each, so that a noisy moment meets both. A row is a loss where the
 * median ratio is more than 3 % above 1 and above the spread of the rounds. Exit code 1 after a loss. It takes about three minutes.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Services } from '../tests/harness/services.ts'
import { cpuOf } from './cpu.ts'
import type { Plan } from './load.ts'
import { median, roundSeconds, rounds, runLoad } from './measure.ts'

/** A loss below this part is none. */
const leastLoss = 0.03
const warmUpSeconds = 4
const hello = 'export default { fetch() { return new Response("hello") } }'
const getMe = '{"jsonrpc":"2.0","method":"getMe","params":[""],"id":1}'

/** One checkout with everything running. */
interface Side {
  readonly services: Services
  readonly loads: Readonly<Record<'getMe' | 'gateway', Omit<Plan, 'seconds'>>>
}

/** Starts a checkout with its own test harness, since what a deployment asks for may differ. */
async function start(checkout: string, folder: string): Promise<Side> {
  const harness = pathToFileURL(join(resolve(checkout), 'tests/harness/services.ts')).href
  const { startServices } = (await import(harness)) as { startServices: () => Promise<Services> }
  const services = await startServices()
  const { basePath } = await services.deploy('hello', hello, { 'MCM.IDLE_SEC': '0' })
  const target = { host: '127.0.0.1', port: Number(new URL(services.url()).port) }
  const bodies = { getMe: join(folder, 'get-me'), gateway: join(folder, 'gateway') }
  const common = { target, connections: 32 }
  return {
    services,
    loads: {
      getMe: { ...common, path: '/jsonrpc/v1', type: 'application/json', bodies: bodies.getMe },
      gateway: {
        ...common,
        path: basePath,
        type: 'text/plain',
        bodies: bodies.gateway,
        headers: { Authorization: `Bearer ${services.token}` },
      },
    },
  }
}

type RowName = 'getMe' | 'gateway' | 'function'

/** One round of one side: microseconds of a request by row. */
async function measure({ services, loads }: Side): Promise<Record<RowName, number>> {
  const pid = services.stack.runtime.process.pid!
  const costs: Partial<Record<RowName, number>> = {}
  for (const load of ['getMe', 'gateway'] as const) {
    const before = cpuOf(pid)
    const { answers } = await runLoad({ ...loads[load], seconds: roundSeconds })
    const after = cpuOf(pid)
    costs[load] = (after.own - before.own) / answers
    if (load === 'gateway') costs.function = (after.children - before.children) / answers
  }
  return costs as Record<RowName, number>
}

function report(name: RowName, pairs: readonly { before: number; after: number }[]): boolean {
  const ratios = pairs.map(({ before, after }) => after / before).sort((one, other) => one - other)
  const ratio = median(ratios)
  // Half the distance between the second lowest and the second highest round.
  const cut = ratios.length > 4 ? 1 : 0
  const spread = (ratios[ratios.length - 1 - cut]! - ratios[cut]!) / 2
  const isLoss = ratio - 1 > leastLoss && ratio - 1 > spread
  const of = (side: 'before' | 'after') =>
    median(pairs.map((each) => each[side]))
      .toFixed(1)
      .padStart(6)
  process.stdout.write(
    `${name.padEnd(9)} before ${of('before')} µs  after ${of('after')} µs  ratio ${ratio.toFixed(3)} ± ${spread.toFixed(3)}  ${isLoss ? 'LOSS' : 'ok'}\n`,
  )
  return isLoss
}

const [before, after] = process.argv.slice(2)
if (before === undefined || after === undefined) {
  process.stderr.write('error: name two built checkouts: npm run bench compare <before> <after>\n')
  process.exit(2)
}
const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'))
writeFileSync(join(folder, 'get-me'), getMe)
writeFileSync(join(folder, 'gateway'), 'hello')
const sides: Side[] = []
try {
  for (const checkout of [before, after]) sides.push(await start(checkout, folder))
  for (const { loads } of sides)
    for (const load of Object.values(loads)) await runLoad({ ...load, seconds: warmUpSeconds })
  const all: { before: Record<RowName, number>; after: Record<RowName, number> }[] = []
  for (let round = 0; round < rounds; round++) {
    process.stderr.write(`round ${round + 1} of ${rounds} …\n`)
    const order = round % 2 === 0 ? [0, 1] : [1, 0]
    const costs: Record<RowName, number>[] = []
    for (const side of order) costs[side] = await measure(sides[side]!)
    all.push({ before: costs[0]!, after: costs[1]! })
  }
  const losses = (['getMe', 'gateway', 'function'] as const).filter((name) =>
    report(
      name,
      all.map((each) => ({ before: each.before[name], after: each.after[name] })),
    ),
  )
  process.exitCode = losses.length === 0 ? 0 : 1
} finally {
  for (const { services } of sides) await services.stop()
  rmSync(folder, { recursive: true, force: true })
}
