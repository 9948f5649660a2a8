/** `selvedge dev`: from a save to the answer of the new version. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cliEnvOf, cliPath } from '../../tests/harness/cli.ts'
import { startServices } from '../../tests/harness/services.ts'
import { limitRow, median, type Row, rounds } from '../measure.ts'

/** Milliseconds that a save may take. */
const limitMs = 500
/** Modules of the larger function. */
const modules = 300

export async function devRows(): Promise<Row[]> {
  const services = await startServices()
  const home = mkdtempSync(join(tmpdir(), 'bench-dev-'))
  const env = { ...cliEnvOf(services.stack), SELVEDGE_ACCESS_TOKEN: services.token }

  /** Median of saves, each followed by requests until the new version answers. */
  async function measure(name: string, imports: string): Promise<number> {
    const folder = join(home, name)
    mkdirSync(folder, { recursive: true })
    const save = (text: string) =>
      writeFileSync(
        join(folder, 'index.ts'),
        `${imports}\nexport default { fetch(): Response { return new Response('${text}') } }`,
      )
    const path = `/${services.developer.clientId}/${name}`
    const untilAnswer = async (text: string) => {
      while ((await services.call(path)).text !== text) await sleep(2)
    }
    save('first')
    const child = spawn(process.execPath, [cliPath, 'dev', folder], { env, stdio: 'ignore' })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    try {
      await untilAnswer('first')
      const times: number[] = []
      for (let round = 0; round < rounds * 3; round++) {
        await sleep(200)
        const begin = performance.now()
        save(`save ${round}`)
        await untilAnswer(`save ${round}`)
        times.push(performance.now() - begin)
      }
      return median(times)
    } finally {
      child.kill('SIGINT')
      await ended
    }
  }

  const rowOf = (what: string, ms: number) =>
    limitRow(
      { name: `dev, ${what}: from a save to the new answer, median`, unit: 'ms', against: 'the limit' },
      ms,
      limitMs,
    )
  try {
    const one = await measure('one', '')
    mkdirSync(join(home, 'many'))
    for (let each = 0; each < modules; each++)
      writeFileSync(join(home, 'many', `m${each}.ts`), `export const m${each}: number = ${each}`)
    const imports = Array.from(
      { length: modules },
      (_, each) => `import { m${each} } from './m${each}.ts'; console.log(m${each})`,
    )
    const many = await measure('many', imports.join('\n'))
    return [rowOf('one TypeScript file', one), rowOf(`${modules} modules`, many)]
  } finally {
    await services.stop()
    rmSync(home, { recursive: true, force: true })
  }
}
