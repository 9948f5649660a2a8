/** Shows on a terminal that something is under way, and for how long. Nothing where a program reads. */
import type { Terminal } from './terminal.ts'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const intervalMs = 100

/**
 * @param label what is under way, such as `pulling nginx:1.27`; a function is called for each picture
 * @returns the result of the work; the line of the spinner is gone then
 */
export async function spinning<T>(
  terminal: Terminal,
  label: string | (() => string),
  work: Promise<T>,
): Promise<T> {
  if (!terminal.isWatched) return work
  const started = performance.now()
  let frame = 0
  const draw = () => {
    const seconds = Math.floor((performance.now() - started) / 1000)
    const text = typeof label === 'string' ? label : label()
    terminal.redraw(`${frames[frame++ % frames.length]} ${text}${seconds < 2 ? '' : `  ${seconds} s`}`)
  }
  draw()
  const timer = setInterval(draw, intervalMs)
  try {
    return await work
  } finally {
    clearInterval(timer)
    terminal.redraw('')
  }
}
