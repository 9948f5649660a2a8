/**
 * Programs as they are built for macOS: `process.platform` is `darwin` in their modules, and code for Linux alone is not part of them. Such a
 * bundle runs on Linux, too, with everything switched off that only Linux has.
 */
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { bundleProgram } from '../../scripts/bundle-program.mjs'
import { root, temporaryFolder } from './processes.ts'

/**
 * Bundles a program into `<folder>/apps/<app>/dist`.
 *
 * @returns the code of its modules that is part of the bundle, without comments, by their paths in the project
 */
export async function bundleElsewhere(
  app: 'runtime' | 'stack' | 'cli',
  folder: string,
): Promise<ReadonlyMap<string, string>> {
  const target = join(folder, 'apps', app, 'dist')
  mkdirSync(target, { recursive: true })
  const modules = new Map<string, string>()
  await bundleProgram(app, target, [
    {
      name: 'elsewhere',
      transform: (code) =>
        code.includes('process.platform') ? code.replaceAll('process.platform', '"darwin"') : undefined,
      generateBundle(_, bundle) {
        for (const { modules: ofChunk = {} } of Object.values(bundle))
          for (const [id, { code }] of Object.entries(ofChunk))
            modules.set(relative(root, id), (code ?? '').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''))
      },
    },
  ])
  return modules
}

/** Bundles the runtime into a new folder, for a start with `checkout`. */
export async function buildElsewhere(): Promise<{
  readonly checkout: string
  readonly modules: ReadonlyMap<string, string>
  remove(): Promise<void>
}> {
  const { path: checkout, remove } = await temporaryFolder()
  const modules = await bundleElsewhere('runtime', checkout)
  addDeno(checkout)
  return { checkout, modules, remove }
}

/** The Deno of this machine where an installed runtime has it: the one of another system does not run here. */
function addDeno(folder: string): void {
  const packages = join(root, 'node_modules/@deno')
  const [name = ''] = readdirSync(packages).filter((each) => each.startsWith(`linux-${process.arch}`))
  symlinkSync(join(packages, name, 'deno'), join(folder, 'apps/deno'))
}
