import { useEffect, useState } from 'preact/hooks'

const steps: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]
const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })

/** A time as the person's locale of the console writes it. */
export const exactTime = (of: string): string => exact.format(new Date(of))

/** The time of this browser, in Unix milliseconds. */
export const nowMs = (): number => Date.now()

/** A relative time that updates itself; the tooltip shows the exact time. */
export function Time({ of }: { of: string }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 15_000)
    return () => clearInterval(timer)
  }, [])
  const at = new Date(of)
  return (
    <time dateTime={of} title={exactTime(of)}>
      {relative((at.getTime() - now) / 1000)}
    </time>
  )
}

function relative(seconds: number): string {
  for (const [unit, length] of steps) {
    if (Math.abs(seconds) >= length) return words.format(Math.round(seconds / length), unit)
  }
  return seconds > 5
    ? 'in a moment'
    : Math.abs(seconds) < 10
      ? 'just now'
      : `${Math.round(-seconds)} seconds ago`
}

/** A length of time given in seconds, in its largest whole unit. */
export function duration(seconds: number): string {
  for (const [unit, length] of steps) {
    if (seconds >= length && seconds % length === 0) {
      const count = seconds / length
      return `${count} ${unit}${count === 1 ? '' : 's'}`
    }
  }
  return `${seconds} seconds`
}
