import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { UsageError } from '../failure.ts'
import { packFunction } from './pack.ts'

export interface Built {
  /** Name of the image. */
  readonly name: string
  readonly path: string
  /** Removes the archive. */
  remove(): void
}

const recipes = ['Containerfile', 'Dockerfile']
const builders = ['podman', 'docker', 'buildah']

/**
 * The archive of a folder: of the function in it, or of what its Containerfile builds with the Podman or Docker of this machine.
 *
 * @throws UsageError
 */
export function buildFolder(folder: string): Built {
  const target = mkdtempSync(join(tmpdir(), 'selvedge-build-'))
  const path = join(target, 'image.tar')
  const remove = () => rmSync(target, { recursive: true, force: true })
  try {
    if (!recipes.some((each) => existsSync(join(folder, each)))) {
      const { name, archive } = packFunction(folder)
      writeFileSync(path, archive)
      return { name, path, remove }
    }
    const name = basename(resolve(folder)).toLowerCase()
    const builder = builders.find((each) => isInstalled(each))
    if (builder === undefined)
      throw new UsageError(
        'a Containerfile needs Podman or Docker to be built',
        'Install one of them on this machine.',
      )
    const run = (...args: string[]) =>
      execFileSync(builder, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    run('build', '-t', `localhost/${name}:dev`, '.')
    if (builder === 'buildah') run('push', `localhost/${name}:dev`, `docker-archive:${path}:${name}:dev`)
    else run('save', '-o', path, `localhost/${name}:dev`)
    return { name, path, remove }
  } catch (cause) {
    remove()
    throw cause
  }
}

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
