import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { SimulationFigures, SimulationReport } from '@selvedge/protocol'
import { command } from '../command.ts'
import { UsageError } from '../failure.ts'
import { installedProgram, nodeOfPrograms } from '../installed.ts'

export const simulate = command({
  path: ['simulate'],
  summary: 'Run a fleet of virtual devices, to measure the load that an installation can handle.',
  options: [
    {
      flags: '--nodes <count>',
      description: 'virtual devices, each with a key, tokens and a session; default 1000',
    },
    {
      flags: '--rate <perSecond>',
      description: 'reports per second of all devices; default a tenth of the number of devices',
    },
    {
      flags: '--queries <perSecond>',
      description: 'proximity queries per second; default a hundredth of the rate',
    },
    { flags: '--seconds <count>', description: 'duration; default 30, at most 3000' },
    { flags: '--map <place>', description: '"world" (default), or <longitude>,<latitude>,<radius in km>' },
    {
      flags: '--seed <text>',
      description: 'seed of the random numbers: equal seeds give equal fleets; default selvedge',
    },
    {
      flags: '--running',
      description: 'report to the running stack, within its limits; default: to a temporary stack',
    },
  ],
  examples: ['selvedge simulate --nodes 10000 --rate 1000 --seconds 60'],
  run: async ({ terminal, selection, state }, { options }) => {
    // A separate program, so that other commands do not load it.
    const program = installedProgram('simulator/dist/main.cjs')
    const child = spawn(nodeOfPrograms(), [program, JSON.stringify(options)], {
      env: { ...selection().env, ...(state.isNamed && { SELVEDGE_STATE: state.path }) },
      // The simulator draws its own screen, and cleans the foreign text in its errors itself.
      stdio: ['ignore', 'pipe', terminal.isWatched ? 'inherit' : 'pipe'],
    })
    // The terminal sends its interrupt to both programs; the simulator then reports its counts.
    process.on('SIGINT', () => undefined)
    process.once('SIGTERM', () => child.kill('SIGTERM'))
    let out = ''
    let errors = ''
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk
    })
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      errors += chunk
    })
    const [code] = (await once(child, 'close')) as [number | null]
    if (code === 2)
      throw new UsageError(
        errors.trim() || 'the options are not valid',
        '"selvedge help simulate" explains the options.',
      )
    if (code !== 0) throw new Error(errors.trim() || 'the simulation failed')
    return JSON.parse(out) as SimulationReport
  },
  human: ({ nodes, seconds, setup, updates, queries, memory, seed, fleet }) => {
    const line = (name: string, { ok, perSecond, p50, p99, max, errors }: SimulationFigures) =>
      `${name}  ${ok} in ${seconds} s, ${perSecond} a second; p50 ${p50} ms, p99 ${p99} ms, longest ${max} ms; errors ${errors}`
    const mebibytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`
    const wrong = Object.entries({ ...updates.reasons, ...queries.reasons })
    return [
      `fleet    ${nodes} devices, seed ${JSON.stringify(seed)}, digest ${fleet}`,
      `setup    ${setup.seconds} s, ${setup.perSecond} devices a second: key, tokens, account, session`,
      line('updates', updates),
      line('queries', queries),
      ...(memory
        ? [
            `memory   discovery service ${mebibytes(memory.before)} before, ${mebibytes(memory.after)} after: ${memory.perNode} bytes a device`,
          ]
        : []),
      ...wrong.map(([reason, count]) => `  ${count} × ${reason}`),
    ].join('\n')
  },
})
