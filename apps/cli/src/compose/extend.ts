/** `extends`: a service begins with the keys of another one, of the same file or of one in the folder. */

import { FileRefusal } from './folder-files.ts'
import { composeLimits } from './limits.ts'
import { mergeTrees } from './merge.ts'
import type { Opened } from './open-compose.ts'
import type { Report } from './report.ts'
import { below, shown } from './report.ts'
import { type Entry, type MapTree, memberOf, type Tree } from './tree.ts'

const ownKeys = new Set(['extends'])

interface Origin {
  /** Of the file: its path below the folder; empty for the Compose files of the command line. */
  readonly file: string
  readonly services: Tree | undefined
}

/**
 * The service with all that it extends.
 *
 * @param path of the service in the file
 * @returns the service without `extends`; without what it extends after a problem
 */
export async function extendService(
  name: string,
  service: Tree,
  path: string,
  opened: Opened,
  report: Report,
): Promise<Tree> {
  const resolveIn = async (
    own: string,
    tree: Tree,
    origin: Origin,
    way: readonly string[],
  ): Promise<Tree> => {
    const wanted = memberOf(tree, 'extends')
    if (tree.kind !== 'map' || !wanted) return tree
    const key = JSON.stringify([origin.file, own])
    const refuse = (message: string): MapTree => {
      report.problem(wanted.place, below(path, 'extends'), message)
      return without(tree, ownKeys)
    }
    if (way.includes(key))
      return refuse('The service extends itself through others. Remove one of these references.')
    if (way.length >= composeLimits.extends)
      return refuse(`More than ${composeLimits.extends} services extend each other. Use fewer.`)
    const unknown = wanted.kind === 'map' && [...wanted.entries.keys()].find((each) => !isOfReference(each))
    if (typeof unknown === 'string')
      return refuse(`Only service and file are possible here, not ${shown(unknown)}.`)
    const { service: other, file } = referenceOf(wanted, own)
    if (other === undefined)
      return refuse('Write the name of a service, or a mapping with "service" and "file".')
    const from = file === undefined ? origin : await originOf(file, wanted, opened)
    if (typeof from === 'string') return refuse(`${shown(file!)}: ${from}`)
    const base = memberOf(from.services, other)
    if (!base)
      return refuse(
        `There is no service ${shown(other)}${file === undefined ? '' : ` in ${shown(file)}`}. Check the name.`,
      )
    const resolved = await resolveIn(other, base, from, [...way, key])
    const rest = without(tree, ownKeys)
    return resolved.kind === 'map' ? mergeTrees(without(resolved, ownKeys), rest) : rest
  }
  return resolveIn(name, service, { file: '', services: memberOf(opened.tree, 'services') }, [])
}

const isOfReference = (key: string): boolean => key === 'service' || key === 'file' || key.startsWith('x-')

function referenceOf(tree: Tree, own: string): { service: string | undefined; file: string | undefined } {
  if (tree.kind === 'scalar') return { service: tree.isNull ? undefined : tree.text, file: undefined }
  const textAt = (key: string) => {
    const value = memberOf(tree, key)
    return value?.kind === 'scalar' && !value.isNull ? value.text : undefined
  }
  const file = textAt('file')
  return { service: textAt('service') ?? (file === undefined ? undefined : own), file }
}

/** @returns why there is no such file */
async function originOf(file: string, wanted: Tree, opened: Opened): Promise<Origin | string> {
  try {
    const { id, tree } = await opened.parse(file, wanted.place.folder)
    return { file: id, services: memberOf(tree, 'services') }
  } catch (cause) {
    if (cause instanceof FileRefusal) return cause.message
    throw cause
  }
}

const without = (tree: MapTree, keys: ReadonlySet<string>): MapTree => ({
  ...tree,
  entries: new Map([...tree.entries].filter((entry: [string, Entry]) => !keys.has(entry[0]))),
})
