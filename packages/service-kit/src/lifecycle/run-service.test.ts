import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createProgramClock } from '../../../../tests/harness/program-clock.ts'
import { alarmMessages } from './alarms.ts'
import { exitCodes } from './exit-codes.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-life-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const source = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

/** Runs a program as a process of its own. @param start body of its start; `alarms`, `stopped` and `folder` are there */
function run(start: string, env: NodeJS.ProcessEnv = {}): { child: ChildProcess; lines(): string[] } {
  const program = `
    import { runService } from ${source('./run-service.ts')}
    import { ConfigError } from ${source('../config/index.ts')}
    import { safely, inBackground } from ${source('../safely/safely.ts')}
    const folder = ${JSON.stringify(folder)}
    await runService('test', async (alarms, stopped) => {
      // Something to do, as a listener is.
      setInterval(() => undefined, 1000)
      const service = { ready: { url: 'none' }, stop: async () => console.log('stopped') }
      ${start}
      console.log('started')
      return service
    })`
  const child = spawn(
    process.execPath,
    ['--conditions=source', '--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } },
  )
  let text = ''
  child.stderr!.on('data', (chunk) => {
    text += chunk
  })
  return { child, lines: () => text.trim().split('\n') }
}

const started = async (child: ChildProcess) => {
  const [chunk] = await once(child.stdout!, 'data')
  expect(String(chunk)).toContain('started')
}
const end = async (child: ChildProcess): Promise<number | string> => {
  const [code, signal] = await once(child, 'exit')
  return signal ?? code
}
const withMessage = (lines: string[], message: string) =>
  lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter((line) => line.message === message)

describe('the alarms of a program', () => {
  it('log an unhandled rejection with an error ID, and the program continues', async () => {
    const { child, lines } = run(`void Promise.reject(new Error('lost')); await new Promise(setImmediate)`)
    await started(child)
    child.kill('SIGTERM')
    expect(await end(child)).toBe(exitCodes.stopped)
    expect(withMessage(lines(), alarmMessages.unhandled)).toMatchObject([
      {
        level: 'error',
        errorId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        count: 1,
        cause: { message: 'lost' },
      },
    ])
  })

  it('after an uncaught exception record the crash, mode 0600, and end with 70', async () => {
    for (const count of [1, 2]) {
      const { child, lines } = run(
        `alarms.recordCrashesIn(folder); setTimeout(() => { throw new Error('bug') }, 50)`,
      )
      expect(await end(child)).toBe(exitCodes.crashed)
      const [{ errorId }] = withMessage(lines(), alarmMessages.uncaught) as [{ errorId: string }]
      const file = join(folder, 'crashes.json')
      expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ count, errorId })
      expect(statSync(file).mode & 0o777).toBe(0o600)
    }
  })

  it('log what a callback caught once, with the number of failures', async () => {
    const { child, lines } = run(`
      const callback = safely('test.event', () => { throw new Error('hostile') })
      for (let count = 0; count < 1000; count++) callback()
      inBackground('test.other', Promise.reject(new Error('other')))
      await new Promise(setImmediate)
      if (alarms.counts().caught !== 1001) throw new Error('not counted')`)
    await started(child)
    child.kill('SIGTERM')
    expect(await end(child)).toBe(exitCodes.stopped)
    expect(withMessage(lines(), alarmMessages.caught)).toMatchObject([
      { where: 'test.event', count: 1, errorId: expect.any(String) },
      { where: 'test.other', count: 1001 },
    ])
  })
})

describe('a program that cannot start', () => {
  it('for its configuration ends with 78, and its sentence is the last line', async () => {
    const { child, lines } = run(`throw new ConfigError('option "port" is "x"')`)
    expect(await end(child)).toBe(exitCodes.unrepairable)
    expect(lines()).toEqual(['error: test did not start: option "port" is "x"'])
  })

  it('for a refusal of the system ends with 1 and one sentence', async () => {
    const { child, lines } = run(`const { readFileSync } = await import('node:fs'); readFileSync(folder)`)
    expect(await end(child)).toBe(exitCodes.failed)
    expect(lines()).toEqual(['error: test did not start: EISDIR: illegal operation on a directory, read'])
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('and hangs instead is stopped by %s', async (signal) => {
    const clock = await createProgramClock()
    const { child } = run(
      `stopped.addEventListener('abort', () => console.log('asked to stop'))
      console.log('started'); await new Promise((resolve) => setTimeout(resolve, 2 ** 30))`,
      clock.env,
    )
    await started(child)
    child.kill(signal)
    await once(child.stdout!, 'data')
    const ended = end(child)
    await clock.pass(2000)
    expect(await ended).toBe('SIGKILL')
    await clock.remove()
  })

  it('any more, because it was asked to stop while it started, ends with 0', async () => {
    const { child } = run(
      `console.log('started'); await new Promise((_, reject) => stopped.addEventListener('abort', reject))`,
    )
    await started(child)
    child.kill('SIGTERM')
    expect(await end(child)).toBe(exitCodes.stopped)
  })
})
