import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const packages: Readonly<Record<string, string>> = {
  x64: '@deno/linux-x64-glibc',
  arm64: '@deno/linux-arm64-glibc',
}

/**
 * Path of the Deno program: the one that an installed runtime brings in the folder of its programs (`<folder>/deno` for
 * `<folder>/runtime/dist/main.cjs`), else that of the registry package for this machine. Nothing but the place of the program decides:
 * no environment variable and no setting.
 *
 * @param start folder of the program
 * @returns undefined if neither is there
 */
export function findDeno(start: string = fileURLToPath(new URL('.', import.meta.url))): string | undefined {
  const installed = join(start, '../../deno')
  if (statSync(installed, { throwIfNoEntry: false })?.isFile()) return installed
  const name = process.platform === 'linux' ? packages[process.arch] : undefined
  if (name === undefined) return undefined
  for (let folder = start; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name, 'deno')
    if (existsSync(path)) return path
    if (folder === dirname(folder)) return undefined
  }
}
