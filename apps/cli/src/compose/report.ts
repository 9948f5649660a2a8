/** What is wrong with a Compose file, and what a person has to know about one that is right; each with its line. */
import { composeLimits } from './limits.ts'
import type { Place } from './tree.ts'

export interface Remark {
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
  /** Names from the root of the file, such as `services.web.ports[0]`; empty for the file itself. */
  readonly path: string
  readonly message: string
}

/** A line for each remark; one for all services that have the same value by an anchor, a fragment or `extends`. */
export function linesOf(remarks: readonly Remark[]): string[] {
  const places = Map.groupBy(remarks, (each) =>
    keyOf({ ...each, path: each.path.replace(/^services\.[^.]+/, 'services.') }),
  )
  return [...places.values()].map(([first, ...others]) => {
    const { file, line, column, path, message } = first!
    const more =
      others.length === 0
        ? ''
        : ` (and ${others.length} more ${others.length === 1 ? 'service' : 'services'})`
    return `${file}:${line}:${column}: ${path === '' ? '' : `${path}${more}: `}${message}`
  })
}

export interface Report {
  /** @param message what is wrong with which value, and what to do */
  readonly problem: (place: Place, path: string, message: string) => void
  /** @param message what is different here, for a value that was accepted */
  readonly note: (place: Place, path: string, message: string) => void
  /** @param message what a person should see before anything is deployed */
  readonly warn: (place: Place, path: string, message: string) => void
  readonly problems: readonly Remark[]
  /** Never more than there are files. */
  readonly warnings: readonly Remark[]
  readonly notes: readonly Remark[]
  /** Problems and notes beyond the limit, which are not in the lists. */
  readonly left: { readonly problems: number; readonly notes: number }
}

const keyOf = ({ file, line, column, path, message }: Remark): string =>
  JSON.stringify([file, line, column, path, message])

/** A list without repetitions: services that extend the same one have its problems once. */
function createRemarks(max: number) {
  const all: Remark[] = []
  const keys = new Set<string>()
  const beside = { left: 0 }
  return {
    all,
    beside,
    add: (place: Place, path: string, message: string) => {
      const remark = { file: place.file, line: place.line, column: place.column, path, message }
      if (keys.has(keyOf(remark))) return
      if (all.length >= max) {
        beside.left += 1
        return
      }
      keys.add(keyOf(remark))
      all.push(remark)
    },
  }
}

export function createReport(): Report {
  const problems = createRemarks(composeLimits.problems)
  const notes = createRemarks(composeLimits.notes)
  // No number of notes hides them.
  const warnings = createRemarks(composeLimits.files)
  return {
    problem: problems.add,
    note: notes.add,
    warn: warnings.add,
    warnings: warnings.all,
    problems: problems.all,
    notes: notes.all,
    get left() {
      return { problems: problems.beside.left, notes: notes.beside.left }
    },
  }
}

/** A value of a file in a message: quoted, on one line, shortened. */
export function shown(text: string): string {
  const max = composeLimits.shownCharacters
  return JSON.stringify(text.length > max ? `${text.slice(0, max)}…` : text)
}

const plainKey = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$/

/** The path of a member: names other than plain words are quoted. */
export const below = (path: string, key: string | number): string => {
  if (typeof key === 'number') return `${path}[${key}]`
  const name = plainKey.test(key) ? key : shown(key)
  return path === '' ? name : `${path}.${name}`
}
