/** Which file of a folder is the function, and whether it has to be bundled. */
import { existsSync, lstatSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { UsageError } from '../../failure.ts'
import { isComponent } from '../component/is-component.ts'

const names = [
  'index.ts',
  'index.mts',
  'index.tsx',
  'index.js',
  'index.mjs',
  'index.wasm',
  'src/index.ts',
  'src/index.js',
]
const sourceName = /\.(?:[cm]?[jt]s|[jt]sx|wasm)$/

/**
 * The entry of a function: `main` of package.json if that file exists, otherwise the one file with a usual name.
 *
 * @param main as package.json has it, of any type
 * @returns the path from the folder
 * @throws UsageError
 */
export function findEntry(folder: string, main: unknown): string {
  const named = typeof main === 'string' && main !== '' ? checkMain(folder, main) : undefined
  if (named !== undefined) return named
  const found = names.filter((each) => isFile(join(folder, each)))
  const own = found.filter((each) => !each.includes('/'))
  const [entry, other] = own.length > 0 ? own : found
  if (entry !== undefined && other === undefined) return entry
  if (entry !== undefined)
    throw new UsageError(
      `${folder} holds both ${entry} and ${other}`,
      'Remove one of them, or name the function with "main" in its package.json.',
    )
  if (!existsSync(folder))
    throw new UsageError(
      `there is no folder ${JSON.stringify(folder)}`,
      'Name the folder of a function, or create one: selvedge init worker hello',
    )
  throw new UsageError(
    `${folder} holds neither index.ts nor index.js nor index.wasm`,
    'A function begins in one of these files, or in the "main" of its package.json. "selvedge init worker <dir>" makes an example.',
  )
}

/** A `main` that does not exist is ignored: "npm init" writes one into each package.json. */
function checkMain(folder: string, main: string): string | undefined {
  const path = main.replace(/^(?:\.\/)+/, '')
  if (isAbsolute(path) || path.split(/[\\/]/).includes('..') || /[\0-\x1f:]/.test(path) || path.length > 1000)
    throw new UsageError(
      `"main" of ${join(folder, 'package.json')} is ${JSON.stringify(main.slice(0, 200))}`,
      'It is the path of a file of the folder, such as "src/index.ts".',
    )
  return sourceName.test(path) && isFile(join(folder, path)) ? path : undefined
}

/** Also for links: where they lead is checked when the file is read. */
function isFile(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
      ? existsSync(path) && statSync(path).isFile()
      : lstatSync(path).isFile()
  } catch {
    return false
  }
}

/**
 * Whether a function is made of more than its entry. An index.js without imports is stored as it is, so it needs no bundler.
 *
 * @param source of the entry
 * @param hasPackage whether the folder has a package.json
 */
export function needsBundling(entry: string, source: Buffer, hasPackage: boolean): boolean {
  if (entry.endsWith('.wasm')) return isComponent(source)
  if (entry !== 'index.js') return true
  return hasPackage && /\b(?:import|require|from)\b/.test(source.toString())
}
