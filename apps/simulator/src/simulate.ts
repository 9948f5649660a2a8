/** A fleet from nothing to a report: devices enrol, report and ask for a while, and all that is to be known is counted. */
import { createHash } from 'node:crypto'
import type { AuthorizeRequest } from '@selvedge/client'
import type { SimulationFigures as Figures, SimulationReport } from '@selvedge/protocol'
import { systemClock } from '@selvedge/service-kit/clock'
import { createEnrolment } from './devices.ts'
import { drive } from './drive.ts'
import { createFleet } from './fleet.ts'
import { findRunning, type Installation, startOwn } from './installation.ts'
import type { Options } from './options.ts'
import { createRandom } from './random.ts'
import { bar, type Screen } from './screen.ts'
import { createWire } from './wire.ts'

/** Devices that enrol at the same time, and connections that the fleet shares. */
const parallel = 48
const connections = 64
/** Share of the devices that others see. */
const shared = 0.1

export async function simulate(
  options: Options,
  env: Readonly<Record<string, string | undefined>>,
  screen: Screen,
  signal: AbortSignal,
): Promise<SimulationReport> {
  const installation = options.running ? await findRunning(env, options.seed) : await startOwn(options.seed)
  try {
    return await run(options, installation, screen, signal)
  } finally {
    await installation.stop()
  }
}

async function run(
  options: Options,
  installation: Installation,
  screen: Screen,
  signal: AbortSignal,
): Promise<SimulationReport> {
  const { nodes, rate, seconds, seed } = options
  const fleet = createFleet(nodes, options.map, seed)
  const digest = createHash('sha256')
  for (let device = 0; device < Math.min(nodes, 1000); device++)
    digest.update(JSON.stringify(fleet.move(device, 0)))

  const begunAt = performance.now()
  const sessions = await enrolAll(
    nodes,
    { ...installation, seed, clock: systemClock, shared: nodes * shared },
    screen,
    signal,
  )
  const setup = (performance.now() - begunAt) / 1000
  screen.end()

  const before = installation.memory()
  const wire = createWire(installation.discoveryUrl, connections)
  const { updates, queries } = await drive({
    fleet,
    sessions,
    wire,
    clock: systemClock,
    random: createRandom(`queries ${seed}`),
    rate,
    queries: options.queries,
    seconds,
    signal,
    onTick: (recent, totals, elapsed) => screen.show(view(options, recent, totals, elapsed)),
  })
  screen.end()
  wire.close()
  const after = installation.memory()
  return {
    nodes,
    rate,
    seconds,
    seed,
    fleet: digest.digest('hex').slice(0, 16),
    setup: { seconds: Math.round(setup * 10) / 10, perSecond: Math.round(nodes / setup) },
    updates,
    queries,
    memory:
      before === undefined || after === undefined
        ? null
        : { before, after, perNode: Math.max(0, Math.round((after - before) / nodes)) },
  }
}

async function enrolAll(
  nodes: number,
  parts: Parameters<typeof createEnrolment>[0],
  screen: Screen,
  signal: AbortSignal,
): Promise<AuthorizeRequest[]> {
  const { enrol } = createEnrolment(parts)
  const sessions: AuthorizeRequest[] = []
  const begunAt = performance.now()
  let next = 0
  let done = 0
  const work = async () => {
    while (next < nodes) {
      if (signal.aborted) throw new Error('interrupted')
      const device = next++
      sessions[device] = await enrol(device)
      if (++done % 100 === 0 || done === nodes) {
        const perSecond = Math.round(done / ((performance.now() - begunAt) / 1000))
        screen.show([`enrolling  ${bar(done, nodes)} of ${nodes} devices, ${perSecond} a second`])
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, nodes) }, work))
  return sessions
}

const milliseconds = (value: number): string => `${value < 10 ? value.toFixed(2) : Math.round(value)} ms`

function view(
  { seconds, nodes, rate }: Options,
  recent: Figures,
  { updates, queries }: { updates: Figures; queries: Figures },
  elapsed: number,
): string[] {
  const line = ({ perSecond, p50, p99, errors }: Figures) =>
    `${String(perSecond).padStart(7)} a second   p50 ${milliseconds(p50).padStart(8)}   p99 ${milliseconds(p99).padStart(8)}   errors ${errors}`
  return [
    `reporting  ${bar(elapsed, seconds)} of ${seconds} s, ${nodes} devices, ${rate} reports a second wanted`,
    `  now      ${line(recent)}`,
    `  updates  ${line(updates)}`,
    `  queries  ${line(queries)}`,
  ]
}
