import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { linesOf } from '@selvedge/protocol/lines'
import { UsageError } from '../failure.ts'
import type { Terminal } from '../output/terminal.ts'
import type { Builder } from './bundler/builder.ts'
import { packFolder } from './pack.ts'

export interface Built {
  /** Name of the image. */
  readonly name: string
  readonly path: string
  /** Paths of the modules in a function that was bundled. */
  readonly modules: readonly string[]
  /** Removes the archive. */
  remove(): void
}

const recipes = ['Containerfile', 'Dockerfile']
const builders = ['podman', 'docker', 'buildah']

/**
 * The archive of a folder: of the function in it, or of what its Containerfile builds with the Podman or Docker of this machine.
 *
 * @param terminal shows what Podman or Docker prints on standard error
 * @param bundler of functions; without one, one is started for this build
 * @throws UsageError
 */
export async function buildFolder(
  folder: string,
  terminal: Pick<Terminal, 'note'>,
  bundler?: Builder,
): Promise<Built> {
  const target = mkdtempSync(join(tmpdir(), 'selvedge-build-'))
  const path = join(target, 'image.tar')
  const remove = () => {
    process.off('exit', remove)
    rmSync(target, { recursive: true, force: true })
  }
  // For a program that exits during the build or the upload.
  process.once('exit', remove)
  try {
    if (!recipes.some((each) => existsSync(join(folder, each)))) {
      const { name, archive, modules } = await packFolder(folder, bundler && { builder: bundler })
      writeFileSync(path, archive)
      return { name, path, modules, remove }
    }
    const name = basename(resolve(folder)).toLowerCase()
    const builder = builders.find((each) => isInstalled(each))
    if (builder === undefined)
      throw new UsageError(
        'a Containerfile needs Podman or Docker to be built',
        'Install one of them on this machine.',
      )
    expectCopied(folder)
    const run = (...args: string[]) => runBuilder(builder, args, folder, terminal)
    await run('build', '-t', `localhost/${name}:dev`, '.')
    if (builder === 'buildah')
      await run('push', `localhost/${name}:dev`, `docker-archive:${path}:${name}:dev`)
    else await run('save', '-o', path, `localhost/${name}:dev`)
    return { name, path, modules: [], remove }
  } catch (cause) {
    remove()
    throw cause
  }
}

/**
 * Finds what a Containerfile copies and the folder lacks: the builder reports that with its own paths, and not what makes it.
 *
 * @throws UsageError if the project has a script that may make it
 */
function expectCopied(folder: string): void {
  const recipe = recipes.map((each) => join(folder, each)).find((each) => existsSync(each))!
  const copied = [...readFileSync(recipe, 'utf8').matchAll(/^COPY ([\w./-]+) \S+$/gm)].map(
    ([, path]) => path!,
  )
  const missing = copied.find((path) => !existsSync(join(folder, path)))
  if (missing === undefined || !hasBuildScript(folder)) return
  throw new UsageError(
    `the ${basename(recipe)} copies ${JSON.stringify(missing)}, which ${folder} does not have`,
    `Make it first: npm run build --prefix ${folder}`,
  )
}

function hasBuildScript(folder: string): boolean {
  try {
    const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return typeof scripts?.build === 'string'
  } catch {
    return false
  }
}

async function runBuilder(
  builder: string,
  args: readonly string[],
  cwd: string,
  terminal: Pick<Terminal, 'note'>,
): Promise<void> {
  const child = spawn(builder, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] })
  const closed = once(child, 'close')
  for await (const line of linesOf(child.stderr, { maxLine: 65_536, longer: 'split', ends: 'any' }))
    terminal.note(line)
  const [code] = (await closed) as [number | null]
  if (code !== 0) throw new Error(`"${builder} ${args[0]}" failed with exit code ${code}`)
}

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
