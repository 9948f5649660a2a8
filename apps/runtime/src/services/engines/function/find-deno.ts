import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Packages of the registry with Deno, by system and processor as Node.js names them. */
const packages: Readonly<Record<string, string>> = {
  'linux x64': '@deno/linux-x64-glibc',
  'linux arm64': '@deno/linux-arm64-glibc',
  'darwin x64': '@deno/darwin-x64',
  'darwin arm64': '@deno/darwin-arm64',
}

interface Machine {
  readonly platform: string
  readonly arch: string
}

const ownMachine = (): Machine => ({ platform: process.platform, arch: process.arch })
const packageOf = ({ platform, arch }: Machine): string | undefined => packages[`${platform} ${arch}`]

/**
 * Path of the Deno program: the one that an installed runtime brings in the folder of its programs (`<folder>/deno` for
 * `<folder>/runtime/dist/main.cjs`), else that of the registry package for this machine. Nothing but the place of the program decides:
 * no environment variable and no setting.
 *
 * @param start folder of the program
 * @returns undefined if neither is there
 */
export function findDeno(
  start: string = fileURLToPath(new URL('.', import.meta.url)),
  machine: Machine = ownMachine(),
): string | undefined {
  const installed = join(start, '../../deno')
  if (statSync(installed, { throwIfNoEntry: false })?.isFile()) return installed
  const name = packageOf(machine)
  if (name === undefined) return undefined
  for (let folder = start; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name, 'deno')
    if (existsSync(path)) return path
    if (folder === dirname(folder)) return undefined
  }
}

/** What to do on a machine without Deno. */
export function denoHint(machine: Machine = ownMachine()): string {
  const name = packageOf(machine)
  return name === undefined
    ? `Functions run on ${Object.keys(packages).join(', ')}; this machine runs OCI images only.`
    : `Install the package ${name}: npm install in the folder of the program does.`
}
