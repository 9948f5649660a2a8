/**
 * Files that are merged, by the rules of "Merge" in the Compose Specification: mappings by key, lists one after the other, single values replaced.
 * Some lists are sets: a later item replaces the one for the same path, port or name.
 */
import {
  type Entry,
  emptyMap,
  isNull,
  type ListTree,
  type MapTree,
  memberOf,
  scalar,
  type Tree,
} from './tree.ts'

/** Lists that a later file replaces. */
const replaced = new Set(['command', 'entrypoint', 'test'])
/** Lists of `name=value` that are mappings as well. */
const pairs = new Set(['environment', 'labels', 'extra_hosts', 'sysctls', 'annotations', 'args'])
/** Lists of names that are mappings as well. */
const named = new Set(['depends_on', 'networks', 'models'])
/** Lists with one item for each path or port in the container. */
const sets = new Set([
  'volumes',
  'devices',
  'secrets',
  'configs',
  'ports',
  'expose',
  'tmpfs',
  'cap_add',
  'cap_drop',
])

/** @param key of the value in its mapping */
export function mergeTrees(before: Tree, after: Tree, key = ''): Tree {
  if (isNull(after)) return before
  if (isNull(before) || replaced.has(key)) return after
  const [one, two] = [asMap(before, key), asMap(after, key)]
  if (one.kind === 'map' && two.kind === 'map') return mergeMaps(one, two)
  if (one.kind === 'list' && two.kind === 'list') return mergeLists(one, two, key)
  return after
}

function mergeMaps(before: MapTree, after: MapTree): MapTree {
  const entries = new Map<string, Entry>(before.entries)
  for (const [name, entry] of after.entries) {
    const other = entries.get(name)
    entries.set(name, other ? { key: entry.key, value: mergeTrees(other.value, entry.value, name) } : entry)
  }
  return { ...after, entries }
}

function mergeLists(before: ListTree, after: ListTree, key: string): ListTree {
  const joined = [...before.items, ...after.items]
  if (!sets.has(key)) return { ...after, items: joined }
  const unique = new Map(joined.map((item, index) => [identityOf(item, key) ?? `${index}`, item]))
  return { ...after, items: [...unique.values()] }
}

/** A list of pairs or names as the mapping with the same meaning; another value as it is. */
function asMap(tree: Tree, key: string): Tree {
  if (tree.kind !== 'list' || !(pairs.has(key) || named.has(key))) return tree
  const entries = new Map<string, Entry>()
  for (const item of tree.items) {
    if (item.kind !== 'scalar') return tree
    const equals = pairs.has(key) ? separatorOf(item.text, key) : -1
    const name = equals === -1 ? item.text : item.text.slice(0, equals)
    const value = named.has(key)
      ? emptyMap(item.place)
      : equals === -1
        ? { ...item, text: '', isNull: true }
        : scalar(item.place, item.text.slice(equals + 1))
    entries.set(name, { key: item.place, value })
  }
  return { kind: 'map', place: tree.place, entries }
}

const separatorOf = (text: string, key: string): number => {
  const equals = text.indexOf('=')
  return equals === -1 && key === 'extra_hosts' ? text.indexOf(':') : equals
}

/** What makes two items the same: the path in the container, or the port. */
function identityOf(item: Tree, key: string): string | undefined {
  if (item.kind === 'scalar') {
    const parts = item.text.split(':')
    if (key === 'volumes' || key === 'devices') return parts[1] ?? parts[0]
    return key === 'tmpfs' ? parts[0] : item.text
  }
  if (key === 'ports')
    return ['host_ip', 'target', 'published', 'protocol'].map((name) => textAt(item, name) ?? '').join('|')
  return textAt(item, 'target') ?? textAt(item, 'source')
}

function textAt(tree: Tree, key: string): string | undefined {
  const value = memberOf(tree, key)
  return value?.kind === 'scalar' ? value.text : undefined
}
