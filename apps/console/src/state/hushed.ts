/** Notices that a person put away, in this browser: they stay away for a month. */
const key = 'selvedge:hushed'
const hushMs = 30 * 86_400_000

/** Ends of the hushes, in Unix milliseconds, by person and name. Whatever is stored instead counts as nothing. */
function read(nowMs: number): Record<string, number> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? '{}')
    const entries = Object.entries(stored ?? {}).filter(
      ([, until]) => typeof until === 'number' && until > nowMs && until <= nowMs + hushMs,
    )
    return Object.fromEntries(entries) as Record<string, number>
  } catch {
    return {}
  }
}

const nameOf = (personId: string, name: string): string => `${personId} ${name}`

export const isHushed = (personId: string, name: string, nowMs: number): boolean =>
  Object.hasOwn(read(nowMs), nameOf(personId, name))

export function hush(personId: string, name: string, nowMs: number): void {
  try {
    localStorage.setItem(key, JSON.stringify({ ...read(nowMs), [nameOf(personId, name)]: nowMs + hushMs }))
  } catch {
    // A browser that stores nothing shows the notice again.
  }
}
