import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const packages: Readonly<Record<string, string>> = {
  x64: '@deno/linux-x64-glibc',
  arm64: '@deno/linux-arm64-glibc',
}

/** Path of the Deno program in the registry package for this machine; undefined where there is none. */
export function findDeno(start: string = fileURLToPath(new URL('.', import.meta.url))): string | undefined {
  const name = process.platform === 'linux' ? packages[process.arch] : undefined
  if (name === undefined) return undefined
  for (let folder = start; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name, 'deno')
    if (existsSync(path)) return path
    if (folder === dirname(folder)) return undefined
  }
}
