import { describe, expect, it } from 'vitest'
import { runCli } from '../harness/cli.ts'
import { adminOf } from '../harness/flow.ts'
import { root, temporaryFolder } from '../harness/processes.ts'

const simulate = async (args: readonly string[], env: Record<string, string> = {}) => {
  const { out, errors, code } = await runCli(['simulate', ...args, '--json'], {
    PATH: process.env.PATH ?? '',
    ...env,
  })
  return { code, errors, report: code === 0 ? JSON.parse(out) : undefined }
}

describe('selvedge simulate', () => {
  it('runs a fleet on a stack of its own, and counts every answer', async () => {
    const { report } = await simulate(['--nodes', '60', '--rate', '120', '--queries', '20', '--seconds', '2'])
    expect(report).toMatchObject({ nodes: 60, rate: 120, seconds: 2, seed: 'selvedge' })
    expect(report.updates).toMatchObject({ sent: 240, ok: 240, errors: 0, reasons: {} })
    expect(report.queries).toMatchObject({ errors: 0 })
    expect(report.queries.ok).toBeGreaterThan(30)
    expect(report.updates.p99).toBeGreaterThanOrEqual(report.updates.p50)
    expect(report.memory.after).toBeGreaterThan(1e6)
  })

  it('the same seed is the same fleet, another one is another, and a circle keeps it together', async () => {
    const fleetOf = async (...more: string[]) =>
      (await simulate(['--nodes', '20', '--rate', '20', '--seconds', '1', ...more])).report.fleet
    const [one, again, other, circle] = [
      await fleetOf(),
      await fleetOf(),
      await fleetOf('--seed', 'x'),
      await fleetOf('--map', '13.4,52.5,10'),
    ]
    expect(again).toBe(one)
    expect(new Set([one, other, circle]).size).toBe(3)
  })

  it('joins the stack that runs, under an account of its own, and takes up its devices again', async () => {
    const { startStack } = await import('../harness/processes.ts')
    const stack = await startStack()
    try {
      for (let run = 0; run < 2; run++) {
        const { report } = await simulate(['--nodes', '20', '--rate', '20', '--seconds', '1', '--running'], {
          SELVEDGE_STATE: stack.state,
        })
        expect(report.updates).toMatchObject({ ok: 20, errors: 0 })
        expect(report.memory).toBeNull()
      }
      const nodes = await adminOf(stack.state)['node.list']()
      expect(nodes.filter((each) => each.name.startsWith('virtual '))).toHaveLength(20)
    } finally {
      await stack.stop()
    }
  })

  it.each([
    [['--nodes', '0'], 'expected a number above 0'],
    [['--nodes', 'many'], 'expected a number above 0'],
    [['--map', 'moon'], 'expected "world"'],
    [['--rate', '1e9'], 'up to 100000'],
  ])('%j is refused', async (args, words) => {
    const { code, errors } = await simulate(args)
    expect(code).toBe(2)
    expect(errors).toContain(words)
  })

  it('without a stack that runs says how to start one', async () => {
    const folder = await temporaryFolder()
    const { code, errors } = await simulate(['--running'], { SELVEDGE_STATE: folder.path })
    await folder.remove()
    expect(code).toBe(2)
    expect(errors).toContain('npm start')
    expect(errors).not.toContain(root)
  })
})
