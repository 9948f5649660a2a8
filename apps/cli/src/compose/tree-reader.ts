/** Values with their lines, from the nodes of the YAML parser. */
import type { Node, Pair } from 'yaml'
import { composeLimits } from './limits.ts'
import { below, type Report, shown } from './report.ts'
import type { Entry, MapTree, Place, Tree } from './tree.ts'
import { Unreadable } from './unreadable.ts'

interface Parts {
  readonly yaml: Pick<typeof import('./yaml.lazy.ts'), 'isAlias' | 'isMap' | 'isScalar' | 'isSeq'>
  readonly placeAt: (offset: number) => Place
  readonly report: Report
  readonly replace: (text: string, place: Place, path: string) => string
}

/** A value, and how many values it has with all its aliases. */
interface Sized {
  readonly tree: Tree
  readonly size: number
}

interface At {
  readonly path: string
  readonly depth: number
  /** Of the parent, for a value that is not in the file. */
  readonly place: Place
}

const coreTags = new Set(['str', 'int', 'float', 'bool', 'null', 'map', 'seq'])
const corePrefix = 'tag:yaml.org,2002:'

/** Reads one document. An alias is the value of its anchor itself, and counts as all values in it. */
export class TreeReader {
  readonly #parts: Parts
  /** Undefined while the value is read. */
  readonly #anchors = new Map<string, Sized | undefined>()
  #values = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** @throws Unreadable after a problem that leaves no tree; the report has it */
  read(contents: unknown, start: Place): Tree {
    return this.#value(contents, { path: '', depth: 0, place: start }).tree
  }

  #refuse(place: Place, path: string, message: string): never {
    this.#parts.report.problem(place, path, message)
    throw new Unreadable(message)
  }

  #count(size: number, place: Place): void {
    this.#values += size
    if (this.#values > composeLimits.values)
      this.#refuse(
        place,
        '',
        `The file has more than ${composeLimits.values} values, aliases included. Write fewer.`,
      )
  }

  #placeOf(node: unknown, fallback: Place): Place {
    const { range } = Object(node) as Node
    return range ? this.#parts.placeAt(range[0]) : fallback
  }

  #checkTag(node: unknown, path: string, place: Place): void {
    const { tag } = node as { readonly tag?: string }
    if (tag === undefined || coreTags.has(tag.replace(corePrefix, ''))) return
    this.#refuse(place, path, `The tag ${shown(tag)} is not supported. Remove it.`)
  }

  #value(node: unknown, at: At): Sized {
    const { yaml } = this.#parts
    const place = this.#placeOf(node, at.place)
    if (at.depth > composeLimits.depth)
      this.#refuse(
        place,
        '',
        `More than ${composeLimits.depth} lists and mappings are in each other. Write fewer.`,
      )
    if (yaml.isAlias(node)) return this.#alias(node.source, at.path, place)
    this.#count(1, place)
    if (node === null || node === undefined)
      return { tree: { kind: 'scalar', place, text: '', isNull: true }, size: 1 }
    this.#checkTag(node, at.path, place)
    const { anchor } = node as { readonly anchor?: string }
    if (anchor !== undefined) this.#anchors.set(anchor, undefined)
    const inner = { ...at, place }
    const value = yaml.isMap(node)
      ? this.#map(node.items as Pair[], inner)
      : yaml.isSeq(node)
        ? this.#list(node.items, inner)
        : this.#scalar(node as { readonly value: unknown; readonly source?: string }, inner)
    if (anchor !== undefined) this.#anchors.set(anchor, value)
    return value
  }

  #scalar(node: { readonly value: unknown; readonly source?: string }, { place, path }: At): Sized {
    if (node.value === null) return { tree: { kind: 'scalar', place, text: '', isNull: true }, size: 1 }
    // A number stays as the file has it: 1.10 is a version, and 0644 a mode.
    const raw = typeof node.value === 'string' ? node.value : (node.source ?? String(node.value))
    const text = this.#parts.replace(raw, place, path)
    return { tree: { kind: 'scalar', place, text, isNull: false }, size: 1 }
  }

  #alias(name: string, path: string, place: Place): Sized {
    if (!this.#anchors.has(name))
      this.#refuse(place, path, `The alias *${name} has no anchor before it. Add &${name}.`)
    const value = this.#anchors.get(name)
    if (!value) return this.#refuse(place, path, `The alias *${name} is inside of its own anchor. Remove it.`)
    this.#count(value.size, place)
    return value
  }

  #list(nodes: readonly unknown[], at: At): Sized {
    const items = nodes.map((node, index) =>
      this.#value(node, { ...at, path: below(at.path, index), depth: at.depth + 1 }),
    )
    const size = items.reduce((sum, each) => sum + each.size, 1)
    return { tree: { kind: 'list', place: at.place, items: items.map(({ tree }) => tree) }, size }
  }

  #map(pairs: readonly Pair[], at: At): Sized {
    const entries = new Map<string, Entry>()
    const merged: MapTree[] = []
    let size = 1
    for (const pair of pairs) {
      const key = this.#placeOf(pair.key, at.place)
      const name = this.#key(pair.key, at.path, key)
      const path = below(at.path, name)
      const value = this.#value(pair.value, { path, depth: at.depth + 1, place: key })
      size += value.size
      if (name === '<<') merged.push(...this.#merged(value.tree, path))
      else if (entries.has(name))
        this.#parts.report.problem(key, path, 'The key is there twice. Remove one of them.')
      else entries.set(name, { key, value: value.tree })
    }
    // A key of the mapping itself comes before those that it merges, and an earlier one of these before a later one.
    for (const each of merged) {
      this.#count(each.entries.size, at.place)
      for (const [name, entry] of each.entries) if (!entries.has(name)) entries.set(name, entry)
    }
    return { tree: { kind: 'map', place: at.place, entries }, size }
  }

  #key(key: unknown, path: string, place: Place): string {
    const { yaml } = this.#parts
    if (!yaml.isScalar(key))
      return this.#refuse(place, path, 'A key must be a text. Write a name in its place.')
    this.#checkTag(key, path, place)
    if (key.value === null) return ''
    return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))
  }

  #merged(tree: Tree, path: string): readonly MapTree[] {
    if (tree.kind === 'map') return [tree]
    const maps = tree.kind === 'list' ? tree.items.filter((each) => each.kind === 'map') : []
    if (tree.kind === 'list' && maps.length === tree.items.length) return maps
    return this.#refuse(tree.place, path, 'A merge key needs a mapping, or a list of mappings.')
  }
}
