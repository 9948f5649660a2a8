/** Tarballs of the same folder that a Debian package has in /usr/lib, with its units, for `selvedge service install`. */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Architecture, Product } from '../products.ts'
import { type Release, root } from '../release.ts'
import { settingsOf, sysusersOf, unitsOf } from '../systemd/settings.ts'
import { makeTree, normalize } from '../tree/tree.ts'

/** Sorting and times need GNU tar. */
export const canMakeTarballs = (): boolean =>
  spawnSync('tar', ['--version'], { encoding: 'utf8' }).stdout?.includes('GNU tar') ?? false

/** @returns path of the tarball */
export function makeTarball(
  product: Product,
  architecture: Architecture,
  {
    release,
    target,
    work,
    fast = false,
  }: {
    readonly release: Release
    readonly target: string
    readonly work: string
    /** For tests: compressed less. */
    readonly fast?: boolean
  },
): string {
  const { name } = product
  const folder = `${name}-${release.version}-linux-${architecture}`
  const stage = join(work, folder)
  makeTree(product, architecture, release, stage)
  mkdirSync(join(stage, 'systemd'))
  for (const [file, text] of unitsOf(product)) writeFileSync(join(stage, 'systemd', file), text)
  if (name === 'selvedge')
    copyFileSync(join(root, 'packaging/launcher/choose-release'), join(stage, 'systemd/choose-release'))
  copyFileSync(join(root, 'packaging/release-keys.json'), join(stage, 'release-keys.json'))
  writeFileSync(join(stage, 'systemd/sysusers.conf'), sysusersOf(product))
  writeFileSync(join(stage, 'systemd/settings.json'), settingsOf(product))
  normalize(stage, release.epochSeconds)
  mkdirSync(target, { recursive: true })
  const path = join(target, `${folder}.tar.gz`)
  const sameEverywhere = ['--sort=name', '--format=gnu', '--owner=0', '--group=0', '--numeric-owner']
  execFileSync(
    'tar',
    [
      ...sameEverywhere,
      `--mtime=@${release.epochSeconds}`,
      `--use-compress-program=gzip -n -${fast ? 1 : 6}`,
      '-cf',
      path,
      folder,
    ],
    { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] },
  )
  rmSync(stage, { recursive: true, force: true })
  return path
}
