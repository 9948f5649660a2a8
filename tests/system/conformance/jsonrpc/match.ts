/** Compares an answer with what a vector expects; the few signs are explained in README.md beside the vectors. */
export function matches(expected: unknown, actual: unknown): boolean {
  if (expected === '$any') return actual !== undefined
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false
    const left = [...actual]
    return expected.every((each) => {
      const at = left.findIndex((candidate) => matches(each, candidate))
      if (at !== -1) left.splice(at, 1)
      return at !== -1
    })
  }
  if (typeof expected !== 'object' || expected === null) return Object.is(expected, actual)
  if (typeof actual !== 'object' || actual === null || Array.isArray(actual)) return false
  return Object.entries(expected).every(([name, value]) => {
    const inner = (actual as Record<string, unknown>)[name]
    return value === '$absent' ? inner === undefined : matches(value, inner)
  })
}
