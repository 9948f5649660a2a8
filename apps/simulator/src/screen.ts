/** The live view: on standard error, redrawn where a person watches, nothing where a program does. */
export interface Screen {
  show(lines: readonly string[]): void
  /** Leaves what is shown. */
  end(): void
}

export function createScreen(stream: NodeJS.WriteStream): Screen {
  let shown = 0
  return {
    show(lines) {
      if (!stream.isTTY) return
      const up = shown > 0 ? `\u001b[${shown}A` : ''
      stream.write(`${up}${lines.map((line) => `\u001b[2K${line}\n`).join('')}`)
      shown = lines.length
    },
    end() {
      shown = 0
    },
  }
}

const width = 30

export function bar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total)
  return `${'█'.repeat(Math.round(share * width)).padEnd(width, '░')} ${String(Math.floor(share * 100)).padStart(3)} %`
}
