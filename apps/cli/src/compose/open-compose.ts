/** The Compose files of an app, read with their variables and merged: the last of the steps that know files. */
import { existsSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { reasonOf, UsageError } from '../failure.ts'
import { readEnvFile } from './env-file.ts'
import { FileRefusal, type FolderFiles, openFolder, readNamedFile } from './folder-files.ts'
import { interpolate, VariableError } from './interpolate.ts'
import { composeLimits } from './limits.ts'
import { mergeTrees } from './merge.ts'
import { decode, parseYaml } from './parse-yaml.ts'
import type { Report } from './report.ts'
import type { Place, Tree } from './tree.ts'

/** Names that `docker compose` searches for, the best first, each with the name of its override. */
const defaultNames = [
  ['compose.yaml', 'compose.override.yaml'],
  ['compose.yml', 'compose.override.yml'],
  ['docker-compose.yaml', 'docker-compose.override.yaml'],
  ['docker-compose.yml', 'docker-compose.override.yml'],
] as const

/** Whether a folder has a Compose file with a usual name. */
export const hasComposeFile = (folder: string): boolean =>
  defaultNames.some(([name]) => existsSync(join(folder, name)))

export interface Opened {
  /** Absolute path of the folder of the first file. */
  readonly folder: string
  readonly files: FolderFiles
  /** As messages show them, in the order in which they were merged. */
  readonly names: readonly string[]
  readonly tree: Tree
  readonly variable: (name: string) => string | undefined
  /** Reads a further file of the folder. @throws Unreadable, FileRefusal */
  readonly parse: (path: string, from: string) => Promise<{ readonly id: string; readonly tree: Tree }>
}

export interface OpenOptions {
  /** Folder that paths of the command line begin at. */
  readonly cwd: string
  /** Compose files; empty: those of the folder. A folder is read by the usual names. */
  readonly paths: readonly string[]
  /** Files of variables in place of `.env`. */
  readonly envFiles: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * @throws UsageError for a file that the command line names and that cannot be read
 * @throws Unreadable after a problem that leaves nothing to check; the report has it
 */
export async function openCompose(
  { cwd, paths, envFiles, env }: OpenOptions,
  report: Report,
): Promise<Opened> {
  const named = findFiles(cwd, paths)
  const folder = dirname(named[0]!)
  const files = openFolder(folder)
  const variable = readVariables({ cwd, folder, envFiles, env }, report)
  const state = { characters: 0 }
  const replaceIn = (text: string, place: Place, path: string): string => {
    const replaced = replaceVariables(text, { place, path, variable, report })
    state.characters += replaced.length
    if (state.characters <= composeLimits.allCharacters) return replaced
    throw new UsageError(
      `The texts of the Compose files have more than ${composeLimits.allCharacters} characters with their variables.`,
      'Set shorter values.',
    )
  }
  const shownName = (path: string) => relative(cwd, path) || basename(path)
  let tree: Tree | undefined
  for (const path of named) {
    const bytes = readNamed(path, composeLimits.fileBytes)
    const read = await parseYaml({ name: shownName(path), folder, bytes }, report, replaceIn)
    tree = tree ? mergeTrees(tree, read) : read
  }
  const parsed = new Map<string, Tree>()
  return {
    folder,
    files,
    names: named.map(shownName),
    tree: tree!,
    variable,
    parse: async (path, from) => {
      const file = files.read(path, from, composeLimits.fileBytes)
      const absolute = join(folder, file.path)
      const known = parsed.get(file.path)
      if (known) return { id: file.path, tree: known }
      const read = await parseYaml(
        { name: shownName(absolute), folder: dirname(absolute), bytes: file.bytes },
        report,
        replaceIn,
      )
      parsed.set(file.path, read)
      return { id: file.path, tree: read }
    },
  }
}

interface Replacing {
  readonly place: Place
  readonly path: string
  readonly variable: (name: string) => string | undefined
  readonly report: Report
}

function replaceVariables(text: string, { place, path, variable, report }: Replacing): string {
  try {
    return interpolate(text, {
      get: variable,
      onUnset: (name) => report.note(place, path, `The variable ${name} is not set. Its text is empty.`),
    })
  } catch (cause) {
    if (!(cause instanceof VariableError)) throw cause
    report.problem(place, path, cause.message)
    return ''
  }
}

/** Absolute paths of the Compose files. */
function findFiles(cwd: string, paths: readonly string[]): readonly string[] {
  if (paths.length > 16)
    throw new UsageError(
      `${paths.length} Compose files are named; at most 16 are merged`,
      'Name fewer files.',
    )
  if (paths.length > 1) return paths.map((path) => resolve(cwd, path))
  const path = resolve(cwd, paths[0] ?? '.')
  const found = defaultNames.find(([name]) => existsSync(join(path, name)))
  // A file has no files in it.
  if (!found && paths.length > 0 && existsSync(path) && !isFolder(path)) return [path]
  if (!found)
    throw new UsageError(
      `there is no Compose file at ${path}`,
      `Name one, or its folder. In a folder these names are found: ${defaultNames.map(([name]) => name).join(', ')}.`,
    )
  const override = join(path, found[1])
  return existsSync(override) ? [join(path, found[0]), override] : [join(path, found[0])]
}

const isFolder = (path: string): boolean => statSync(path).isDirectory()

/** @throws UsageError */
function readNamed(path: string, maxBytes: number): Buffer {
  try {
    return readNamedFile(path, maxBytes)
  } catch (cause) {
    const reason = cause instanceof FileRefusal ? cause.message : `${reasonOf(cause)}.`
    throw new UsageError(
      `can't read ${path}: ${reason}`,
      'Name a Compose file, or a folder with a compose.yaml.',
    )
  }
}

/** Values of variables: those of the environment come before those of files, and a later file before an earlier one. */
function readVariables(
  { cwd, folder, envFiles, env }: Omit<OpenOptions, 'paths'> & { readonly folder: string },
  report: Report,
): (name: string) => string | undefined {
  const values = new Map<string, string>()
  const ownOf = (name: string) => (Object.hasOwn(env, name) ? env[name] : undefined)
  const beside = join(folder, '.env')
  const paths =
    envFiles.length > 0 ? envFiles.map((path) => resolve(cwd, path)) : existsSync(beside) ? [beside] : []
  for (const path of paths) {
    const text = decode(readNamed(path, composeLimits.envFileBytes)) ?? ''
    const get = (name: string) => ownOf(name) ?? values.get(name)
    const { lines, problems } = readEnvFile(text, { get, onUnset: () => undefined })
    const file = relative(cwd, path) || basename(path)
    for (const { line, message } of problems) report.problem({ file, folder, line, column: 1 }, '', message)
    for (const { name, value } of lines) if (value !== undefined) values.set(name, value)
  }
  return (name) => ownOf(name) ?? values.get(name)
}
