/** A YAML file as values with their lines. Aliases are resolved: the same value may be in several places, and is never changed. */

export interface Place {
  /** As messages show it. */
  readonly file: string
  /** Absolute path of the folder that relative paths in the file begin at. */
  readonly folder: string
  readonly line: number
  readonly column: number
}

export interface MapTree {
  readonly kind: 'map'
  readonly place: Place
  readonly entries: ReadonlyMap<string, Entry>
}

export interface Entry {
  readonly key: Place
  readonly value: Tree
}

export interface ListTree {
  readonly kind: 'list'
  readonly place: Place
  readonly items: readonly Tree[]
}

export interface ScalarTree {
  readonly kind: 'scalar'
  readonly place: Place
  /** As the file has it, with its variables replaced; empty for null. */
  readonly text: string
  readonly isNull: boolean
}

export type Tree = MapTree | ListTree | ScalarTree

export const emptyMap = (place: Place): MapTree => ({ kind: 'map', place, entries: new Map() })

export const scalar = (place: Place, text: string): ScalarTree => ({
  kind: 'scalar',
  place,
  text,
  isNull: false,
})

export const isNull = (tree: Tree): boolean => tree.kind === 'scalar' && tree.isNull

/** The member of a mapping. */
export const memberOf = (tree: Tree | undefined, key: string): Tree | undefined =>
  tree?.kind === 'map' ? tree.entries.get(key)?.value : undefined

/** Values in a tree, itself included; each alias counts as all values of its anchor. */
export function countValues(tree: Tree): number {
  if (tree.kind === 'scalar') return 1
  const inner = tree.kind === 'list' ? tree.items : [...tree.entries.values()].map(({ value }) => value)
  return inner.reduce((sum, each) => sum + countValues(each), 1)
}

const kinds = { map: 'a mapping', list: 'a list', scalar: 'a single value' } as const

/** What a value is, for a message. */
export const describeKind = (tree: Tree): string => (isNull(tree) ? 'empty' : kinds[tree.kind])
