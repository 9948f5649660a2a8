/**
 * Files that the modules of a function read at run time: those that they name beside `__dirname` or `import.meta`, as texts. They are in the bundle, and
 * `node:fs` has them where the module expects them, read-only. Each module reads only from its own package, and no link is followed.
 */
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'rolldown'
import { FileRefusal, listFolder, readRegular } from '../../compose/folder-files.ts'
import { packageOfFile } from './absent.ts'

interface FileLimits {
  readonly files: number
  /** Bytes of all files together. */
  readonly bytes: number
}

const fileLimits: FileLimits = { files: 1000, bytes: 4 * 1024 * 1024 }

/** What the code of a module calls in place of `import.meta.url`, `__dirname` and their like. */
const ownPlace = 'selvedgePlace'

/** For the bundler: it replaces only what the module itself does not declare. */
export const placeDefinitions: Readonly<Record<string, string>> = {
  'import.meta.url': `${ownPlace}().url`,
  'import.meta.dirname': `${ownPlace}().folder`,
  'import.meta.filename': `${ownPlace}().file`,
  __dirname: `${ownPlace}().folder`,
  __filename: `${ownPlace}().file`,
}

const mentions = /\bimport\s*\.\s*meta\b|\b__(?:dirname|filename)\b/
const scriptName = /\.[cm]?[jt]sx?$/
const references: readonly RegExp[] = [
  /\bnew\s+URL\(\s*(['"`])([^'"`\\\n$]*)\1\s*,\s*import\.meta\.url/g,
  /(?:\b__dirname|\bimport\.meta\.dirname)\s*\+\s*(['"`])([^'"`\\\n$]*)\1/g,
  /\$\{\s*(?:__dirname|import\.meta\.dirname)\s*\}()([^'"`\\\n$]+)/g,
]
const joined = /(?:\b__dirname|\bimport\.meta\.dirname)((?:\s*,\s*(['"`])[^'"`\\\n$]*\2)+)/g

/** Paths, from the folder of a module, that its source names. */
export function namedPaths(source: string): readonly string[] {
  const found = references.flatMap((each) => [...source.matchAll(each)].map(([, , path]) => path!))
  for (const [, list] of source.matchAll(joined))
    found.push([...list!.matchAll(/(['"`])(.*?)\1/g)].map(([, , part]) => part).join('/'))
  return [...new Set(found.map((path) => path.replace(/[?#].*/s, '').replace(/^\/+/, '')))]
}

/** Where a function finds a file: from the folder of the function, and for what is above it below `/@` with the number of folders. */
export function placeOfFile(own: string, path: string): string {
  const parts = relative(own, path).split(sep)
  const up = parts.lastIndexOf('..') + 1
  return `/${[...(up > 0 ? [`@${up}`] : []), ...parts.slice(up)].join('/')}`
}

/** The folder that a module may read from: of its package, or of the function. */
function homeOf(own: string, path: string): string {
  const name = packageOfFile(path)
  if (name !== undefined) {
    const packages = `${sep}node_modules${sep}`
    return join(path.slice(0, path.lastIndexOf(packages) + packages.length), name)
  }
  if (path.startsWith(own + sep)) return own
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder))
    if (existsSync(join(folder, 'package.json'))) return folder
  return dirname(path)
}

const isHidden = (path: string): boolean =>
  path.split(sep).some((name) => name.startsWith('.') || name === 'node_modules')

export interface OwnFiles {
  readonly plugin: Plugin
  /** A statement that gives the files to `node:fs`; empty without files. */
  prelude(): string
}

/** @param refuse reports what is wrong with a file that a module of the function names; @param own real path of its folder */
export function collectOwnFiles(
  own: string,
  refuse: (why: string, importer: string) => Error,
  limits: FileLimits = fileLimits,
): OwnFiles {
  const contents = new Map<string, string>()
  let bytes = 0

  /** @throws FileRefusal */
  function add(path: string): void {
    const place = placeOfFile(own, path)
    if (contents.has(place) || place.startsWith('/tmp/')) return
    if (contents.size >= limits.files) throw new FileRefusal(`more than ${limits.files} files are read`)
    const content = readRegular(path, Math.min(lstatSync(path).size, limits.bytes - bytes)).bytes
    bytes += content.length
    contents.set(place, content.toString('base64'))
  }

  /** @throws FileRefusal */
  function addNamed(module: string, named: string): void {
    const home = homeOf(own, module)
    const path = resolve(dirname(module), named)
    if (!path.startsWith(home + sep) || isHidden(relative(home, path))) return
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return
    if (realpathSync.native(path) !== path) throw new FileRefusal('a part of its path is a link')
    if (!found.isDirectory()) {
      add(path)
      return
    }
    // The folder of the module itself or one above it has the sources, too.
    if (`${dirname(module)}${sep}`.startsWith(path + sep)) return
    for (const each of listFolder(path).files) if (!isHidden(each)) add(join(path, each))
  }

  function addAll(module: string, source: string): void {
    for (const named of namedPaths(source))
      try {
        addNamed(module, named)
      } catch (cause) {
        // What a package names and cannot have is as if it were not there.
        if (!(cause instanceof FileRefusal) || packageOfFile(module) !== undefined) continue
        throw refuse(`cannot have the file ${JSON.stringify(named)} in the bundle: ${cause.message}`, module)
      }
  }

  const plugin: Plugin = {
    name: 'selvedge-files',
    transform(code, id) {
      const [path = id] = id.split('?', 1)
      if (id.startsWith('\0') || !scriptName.test(path) || !mentions.test(code)) return null
      addAll(path, code)
      const file = placeOfFile(own, path)
      const place = { url: pathToFileURL(file).href, folder: dirname(file), file }
      // At the end: lines, and a directive at the beginning, stay as they are.
      return { code: `${code}\nfunction ${ownPlace}() { return ${JSON.stringify(place)} }`, map: null }
    },
  }
  return {
    plugin,
    prelude: () =>
      contents.size === 0
        ? ''
        : `process.getBuiltinModule('node:fs')[Symbol.for('selvedge.files')]?.(${JSON.stringify(Object.fromEntries(contents))})`,
  }
}
