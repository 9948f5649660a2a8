/** Which source files are mutated, must be, and need not be. */
import { readSources, type Source } from '../rules/sources.ts'
import { decides } from './decides.ts'
import { mutated, notMutated } from './folders.ts'

/** Declarations that have no code, as in `import`, `export … from`, `interface` and `type`. */
const withoutCode: ReadonlySet<string> = new Set([
  'ImportDeclaration',
  'ExportAllDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
])

/** Whether a file has code, not only types and exports of other files. */
export const hasCode = ({ program }: Pick<Source, 'program'>): boolean =>
  (program.body as Source['program'][]).some(({ type, declaration }) => {
    if (type !== 'ExportNamedDeclaration') return !withoutCode.has(type)
    return declaration !== null && !withoutCode.has((declaration as { type: string }).type)
  })

/** The entry with the longest path that leads to the file; undefined if no entry does. */
export function entryOf(file: string): string | undefined {
  const isAbove = (entry: string): boolean => file === entry || file.startsWith(`${entry}/`)
  return [...Object.keys(mutated), ...Object.keys(notMutated)]
    .filter(isAbove)
    .sort((one, other) => other.length - one.length)[0]
}

/** Sources of programs and libraries that have code. */
export const sourcesWithCode = (): string[] => pathsOf(hasCode)

/** Those of them that decide nothing: by `decides.ts`, which sees a condition that is added. */
export const undecided = (): string[] => pathsOf((source) => hasCode(source) && !decides(source))

const pathsOf = (isWanted: (source: Source) => boolean): string[] =>
  readSources('apps/*/src', 'packages/*/src')
    .filter(isWanted)
    .map(({ path }) => path)
    .sort()

export interface Covering {
  readonly sources: readonly string[]
  /** Files of the groups of `files.ts`. */
  readonly covered: ReadonlySet<string>
  readonly later: readonly string[]
  /** Sources that decide nothing: they need no group. */
  readonly undecided: ReadonlySet<string>
}

/** What is wrong with the lists, a sentence each. */
export function problemsOf({ sources, covered, later, undecided }: Covering): string[] {
  const known = new Set(sources)
  const waiting = new Set(later)
  return [
    ...sources.flatMap((file) => {
      const entry = entryOf(file)
      if (entry === undefined) return [`${file}: add its folder to tests/mutation/folders.ts`]
      const isMutated = Object.hasOwn(mutated, entry)
      if (undecided.has(file) && !covered.has(file))
        return waiting.has(file)
          ? [`${file}: it decides nothing; remove it from tests/mutation/later.ts`]
          : []
      if (isMutated && !covered.has(file) && !waiting.has(file))
        return [`${file}: it ${mutated[entry]}; add it to a group of tests/mutation/files.ts`]
      if (isMutated && covered.has(file) && waiting.has(file))
        return [`${file}: it is mutated; remove it from tests/mutation/later.ts`]
      if (!isMutated && covered.has(file))
        return [`${file}: it is mutated; say in tests/mutation/folders.ts what it decides`]
      if (!isMutated && waiting.has(file))
        return [`${file}: it need not be mutated; remove it from tests/mutation/later.ts`]
      return []
    }),
    ...later
      .filter((file) => !known.has(file))
      .map((file) => `${file}: there is no such file with code; remove it from tests/mutation/later.ts`),
  ]
}
