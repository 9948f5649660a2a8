/**
 * `npm run bench compare <before> <after>`: what two built checkouts of this repository cost, in CPU microseconds of a request. Both
 * run at the same time and are measured in turns of a tenth of a second, so that a noisy moment meets both. A row is a loss where the
 * median ratio of seven rounds is more than 3 % above 1 and above their spread. Exit code 1 after a loss. It takes about three minutes.
 */
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Services } from '../tests/harness/services.ts'
import { cpuOf } from './cpu.ts'
import { median, roundSeconds, rounds } from './measure.ts'
import { type SteadyLoad, startLoad } from './steady-load.ts'

/** A loss below this part is none. */
const leastLoss = 0.03
const warmUpSeconds = 3
const turnSeconds = 0.1
const connections = 32
const hello = 'export default { fetch() { return new Response("hello") } }'
const getMe = '{"jsonrpc":"2.0","method":"getMe","params":[""],"id":1}'

const kinds = ['getMe', 'gateway'] as const
const rowNames = [...kinds, 'function'] as const
type Kind = (typeof kinds)[number]
type RowName = (typeof rowNames)[number]

/** One checkout with everything running. */
interface Side {
  readonly services: Services
  readonly loads: Readonly<Record<Kind, SteadyLoad>>
}

const post = (port: number, path: string, headers: readonly string[], body: string): Buffer =>
  Buffer.from(
    [
      `POST ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      ...headers,
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  )

/** Starts a checkout with its own test harness, since what a deployment asks for may differ. */
async function start(checkout: string): Promise<Side> {
  const harness = pathToFileURL(join(resolve(checkout), 'tests/harness/services.ts')).href
  const { startServices } = (await import(harness)) as { startServices: () => Promise<Services> }
  const services = await startServices()
  const { basePath } = await services.deploy('hello', hello, { 'MCM.IDLE_SEC': '0' })
  const port = Number(new URL(services.url()).port)
  const asGetMe = post(port, '/jsonrpc/v1', ['Content-Type: application/json'], getMe)
  const asService = post(
    port,
    basePath,
    ['Content-Type: text/plain', `Authorization: Bearer ${services.token}`],
    'hello',
  )
  return {
    services,
    loads: {
      getMe: await startLoad(port, asGetMe, connections),
      gateway: await startLoad(port, asService, connections),
    },
  }
}

/** What a side used in the turns of one round. */
interface Usage {
  answers: number
  own: number
  children: number
}

async function measureTurn({ services, loads }: Side, kind: Kind, usage: Usage): Promise<void> {
  const pid = services.stack.runtime.process.pid!
  const before = cpuOf(pid)
  usage.answers += await loads[kind].run(turnSeconds)
  const after = cpuOf(pid)
  usage.own += after.own - before.own
  usage.children += after.children - before.children
}

/** One round with processes of its own, since two starts differ: microseconds of a request by row, of each side. */
async function measureRound(checkouts: readonly string[], order: readonly number[]) {
  const sides: Side[] = []
  try {
    for (const at of order) sides[at] = await start(checkouts[at]!)
    const costs = sides.map(() => ({}) as Record<RowName, number>)
    for (const kind of kinds) for (const { loads } of sides) await loads[kind].run(warmUpSeconds)
    for (const kind of kinds) {
      const usages = sides.map((): Usage => ({ answers: 0, own: 0, children: 0 }))
      for (let turn = 0; turn < roundSeconds / turnSeconds; turn++)
        for (const at of turn % 2 === 0 ? [0, 1] : [1, 0]) await measureTurn(sides[at]!, kind, usages[at]!)
      for (const [at, { answers, own, children }] of usages.entries()) {
        costs[at]![kind] = own / answers
        if (kind === 'gateway') costs[at]!.function = children / answers
      }
    }
    return costs
  } finally {
    for (const { services, loads } of sides.filter(Boolean)) {
      for (const each of Object.values(loads)) each.close()
      await services.stop()
    }
  }
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
const all: { before: Record<RowName, number>; after: Record<RowName, number> }[] = []
for (let round = 0; round < rounds; round++) {
  process.stderr.write(`round ${round + 1} of ${rounds} …\n`)
  const costs = await measureRound([before, after], round % 2 === 0 ? [0, 1] : [1, 0])
  all.push({ before: costs[0]!, after: costs[1]! })
}
const losses = rowNames.filter((name) =>
  report(
    name,
    all.map((each) => ({ before: each.before[name], after: each.after[name] })),
  ),
)
process.exitCode = losses.length === 0 ? 0 : 1
