/** A bar on standard error where a person watches, nothing where a program does. */
const width = 30
const interval = 100

export function createProgress(label: string): { show(done: number, total: number): void; end(): void } {
  const { stderr } = process
  let last = Number.NEGATIVE_INFINITY
  return {
    show(done, total) {
      const now = performance.now()
      if (!stderr.isTTY || (now - last < interval && done < total)) return
      last = now
      const share = total === 0 ? 1 : done / total
      const bar = '█'.repeat(Math.round(share * width)).padEnd(width, '░')
      stderr.write(
        `\r${label} ${bar} ${String(Math.floor(share * 100)).padStart(3)} % of ${(total / 1e6).toFixed(1)} MB`,
      )
    },
    end() {
      if (stderr.isTTY) stderr.write('\r\u001b[K')
    },
  }
}
