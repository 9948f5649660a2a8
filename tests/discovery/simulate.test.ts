import { describe, expect, it } from 'vitest'
import { runCliHere } from '../harness/cli-here.ts'
import { adminOf } from '../harness/flow.ts'
import { root, temporaryFolder } from '../harness/processes.ts'

const simulate = async (args: readonly string[], env: Record<string, string> = {}) => {
  const { out, errors, code } = await runCliHere(['simulate', ...args, '--json'], {
    PATH: process.env.PATH ?? '',
    ...env,
  })
  return { code, errors, report: code === 0 ? JSON.parse(out) : undefined }
}

describe('selvedge simulate', () => {
  it('runs a fleet on a stack of its own, and counts every answer', async () => {
    const { report } = await simulate([
      '--nodes',
      '60',
      '--rate',
      '240',
      '--queries',
      '60',
      '--seconds',
      '0.5',
    ])
    expect(report).toMatchObject({ nodes: 60, rate: 240, seconds: 0.5, seed: 'selvedge' })
    expect(report.updates).toMatchObject({ sent: 120, ok: 120, errors: 0, reasons: {} })
    expect(report.queries).toMatchObject({ errors: 0 })
    expect(report.queries.ok).toBeGreaterThan(20)
    expect(report.updates.p99).toBeGreaterThanOrEqual(report.updates.p50)
    expect(report.memory.after).toBeGreaterThan(1e6)
  })

  it('joins the stack that runs, under an account of its own, and uses its devices again; the same seed is the same fleet', async () => {
    const { startStack } = await import('../harness/processes.ts')
    const stack = await startStack()
    try {
      const run = async (...more: string[]) => {
        const args = ['--nodes', '20', '--rate', '80', '--seconds', '0.25', '--running', ...more]
        const { report } = await simulate(args, { SELVEDGE_STATE: stack.state })
        expect(report.updates).toMatchObject({ ok: 20, errors: 0 })
        expect(report.memory).toBeNull()
        return report.fleet
      }
      const [one, again] = [await run(), await run()]
      expect(again).toBe(one)
      const nodes = await adminOf(stack.state)['node.list']()
      expect(nodes.filter((each) => each.name.startsWith('virtual '))).toHaveLength(20)
      const others = [await run('--seed', 'x'), await run('--map', '13.4,52.5,10')]
      expect(new Set([one, ...others]).size).toBe(3)
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
