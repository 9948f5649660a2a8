import { describe, expect, it } from 'vitest'
import { createProgress } from './progress.ts'
import { spinning } from './spinner.ts'
import { createTerminal, type TerminalStreams } from './terminal.ts'

/** A terminal of 40 columns, or a pipe, and what was written to it. */
function screen(isTTY: boolean) {
  const written: string[] = []
  const stream = { isTTY, columns: 40, on: () => undefined, write: (text: string) => written.push(text) }
  const streams = { stdin: { isTTY }, stdout: stream, stderr: stream } as unknown as TerminalStreams
  return { terminal: createTerminal(streams), written }
}

describe('work under way', () => {
  it('is shown on a terminal, and its line is removed whether it succeeds or fails', async () => {
    const { terminal, written } = screen(true)
    expect(await spinning(terminal, 'pulling nginx', Promise.resolve(7))).toBe(7)
    expect(written[0]).toContain('pulling nginx')
    expect(written.at(-1)).toBe('\r\u001b[K')
    await expect(spinning(terminal, 'x', Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(written.at(-1)).toBe('\r\u001b[K')
  })

  it('writes nothing where a program reads', async () => {
    const { terminal, written } = screen(false)
    await spinning(terminal, 'x', Promise.resolve())
    const progress = createProgress(terminal, 'x')
    progress.show(1, 2)
    progress.end()
    expect(written).toEqual([])
  })

  it('shows what it waits for: to a person each time, to a program if the runtime does not answer at once', () => {
    const cause = new Error('nothing answers\nat x')
    const line = 'x waits for the runtime and tries again in'
    for (const [isTTY, expected] of [
      [
        true,
        [
          '\rx waits for the runtime and tries again\u001b[K',
          '\rx waits for the runtime and tries again\u001b[K',
        ],
      ],
      [false, [`${line} 2 s: nothing answers at x\n`]],
    ] as const) {
      const { terminal, written } = screen(isTTY)
      const progress = createProgress(terminal, 'x')
      progress.wait(cause, 1)
      progress.wait(cause, 2)
      expect(written).toEqual(expected)
    }
  })

  it('stays on one line of the terminal, without control sequences of a foreign label', async () => {
    const { terminal, written } = screen(true)
    await spinning(terminal, `${'x'.repeat(500)}\n\u001b[2J`, Promise.resolve())
    for (const text of written) {
      expect(text.replace(/^\r/, '').replace('\u001b[K', '').length).toBeLessThan(40)
      expect(text).not.toMatch(/\n|\[2J/)
    }
  })
})
