/** Programs that write without end, and programs that write a lot and end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { afterEach, describe, expect, it } from 'vitest'
import { awaitEnd } from './output.ts'

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

function start(file: string, ...args: string[]) {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  return child
}

describe('the output of a program', () => {
  it('leaves the runtime most of its time, even if it is nothing but empty lines of three programs', async () => {
    let lines = 0
    const programs = Array.from({ length: 3 }, () => start('yes', ''))
    const ended = programs.map((child) => awaitEnd(child, { log: () => void lines++ }))
    // The start of the programs is no part of it.
    await expect.poll(() => lines).toBeGreaterThan(1000)
    const first = lines
    // CPU time of this thread, not the time its event loop is busy: that includes what other programs of the machine take.
    const begunAt = performance.now()
    const before = process.threadCpuUsage()
    await expect.poll(() => lines).toBeGreaterThan(first + 6000)
    const { user, system } = process.threadCpuUsage(before)
    const share = (user + system) / 1000 / (performance.now() - begunAt)
    for (const child of programs) child.kill('SIGKILL')
    for (const each of ended) expect(await each).toMatchObject({ why: 'it ended with SIGKILL' })
    expect(share).toBeLessThan(0.5)
  })

  it('is complete before the end is reported', async () => {
    const lines: string[] = []
    const child = start('sh', '-c', 'seq 1 200000; echo ä >&2; exit 3')
    const ending = await awaitEnd(child, { log: (stream, text) => void lines.push(`${stream} ${text}`) })
    expect(ending.why).toBe('it ended with exit code 3: ä | 199996 | 199997 | 199998 | 199999 | 200000')
    expect(lines.filter((line) => line.startsWith('stdout'))).toEqual(
      Array.from({ length: 200_000 }, (_, at) => `stdout ${at + 1}`),
    )
  })

  it('includes a last line without a newline, on both streams and in the reason of the end', async () => {
    const lines: string[] = []
    const child = start('sh', '-c', 'printf "a\\r\\nbye"; printf "fatal: sensor lost" >&2; exit 3')
    const ending = await awaitEnd(child, { log: (stream, text) => void lines.push(`${stream} ${text}`) })
    expect(lines.toSorted()).toEqual(['stderr fatal: sensor lost', 'stdout a', 'stdout bye'])
    expect(ending.why).toBe('it ended with exit code 3: fatal: sensor lost | a | bye')
  })

  it('loses nothing of a line that is longer than a line of the log', async () => {
    const texts: string[] = []
    const child = start('sh', '-c', 'head -c 20000 /dev/zero | tr "\\0" x; echo; echo end')
    await awaitEnd(child, { log: (_, text) => void texts.push(text) })
    expect(texts.map(({ length }) => length)).toEqual([8192, 8192, 3616, 3])
  })
})
