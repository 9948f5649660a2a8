/** Debian packages, made by dpkg-deb from a folder: no build system, since nothing is compiled. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Architecture, Product } from '../products.ts'
import { type Release, root } from '../release.ts'
import { settingsOf, sysusersOf, unitsOf } from '../systemd/settings.ts'
import { makeTree, normalize } from '../tree/tree.ts'
import { changelogOf, controlOf, copyrightOf, debianVersion } from './control.ts'
import { overridesOf } from './lintian.ts'
import { manualOf } from './manual.ts'

export const canMakeDebs = (): boolean => spawnSync('dpkg-deb', ['--version']).status === 0

export interface DebOptions {
  readonly release: Release
  /** Folder of the package. */
  readonly target: string
  /** An empty folder. */
  readonly work: string
  /** For tests: without compression, which is most of the work. */
  readonly fast?: boolean
}

/** @returns path of the package */
export function makeDeb(
  product: Product,
  architecture: Architecture,
  { release, target, work, fast = false }: DebOptions,
): string {
  const { name } = product
  const stage = join(work, `${name}-${architecture}-deb`)
  layOut(product, architecture, release, stage)
  describe(product, architecture, release, stage)
  normalize(stage, release.epochSeconds)
  mkdirSync(target, { recursive: true })
  const path = join(target, `${name}_${debianVersion(release.version)}_${architecture}.deb`)
  execFileSync(
    'dpkg-deb',
    ['--root-owner-group', ...(fast ? ['-Znone'] : ['-Zxz', '-z1']), '--build', stage, path],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { PATH: process.env.PATH, SOURCE_DATE_EPOCH: String(release.epochSeconds) },
    },
  )
  rmSync(stage, { recursive: true, force: true })
  return path
}

/** The files where they will be on the device. */
function layOut(product: Product, architecture: Architecture, release: Release, stage: string): void {
  const { name, section, usersCommands } = product
  const write = (path: string, content: string | Uint8Array) => {
    mkdirSync(dirname(join(stage, path)), { recursive: true })
    writeFileSync(join(stage, path), content)
  }
  const tree = join(stage, 'usr/lib', name)
  makeTree(product, architecture, release, tree)
  for (const command of usersCommands) {
    mkdirSync(join(stage, 'usr/bin'), { recursive: true })
    symlinkSync(`../lib/${name}/bin/${command}`, join(stage, 'usr/bin', command))
    write(`usr/share/man/man1/${command}.1.gz`, gzipSync(manualOf(command, release), { level: 9 }))
  }
  for (const [file, text] of unitsOf(product)) write(`usr/lib/systemd/system/${file}`, text)
  write(`usr/lib/sysusers.d/${name}.conf`, sysusersOf(product))
  write(`etc/selvedge/${section}.json`, settingsOf(product))
  write(`usr/share/doc/${name}/copyright`, copyrightOf(product))
  const notices = gzipSync(readFileSync(join(tree, 'THIRD-PARTY-NOTICES')), { level: 9 })
  write(`usr/share/doc/${name}/THIRD-PARTY-NOTICES.gz`, notices)
  // Debian has its own place for both.
  for (const each of ['LICENSE', 'THIRD-PARTY-NOTICES']) rmSync(join(tree, each))
  write(`usr/share/doc/${name}/changelog.gz`, changelogOf(product, release))
  write(`usr/share/lintian/overrides/${name}`, overridesOf(product))
}

/** The folder DEBIAN, of which dpkg-deb makes the control archive. */
function describe(product: Product, architecture: Architecture, release: Release, stage: string): void {
  const files = filesOf(stage)
  const bytes = files.reduce((sum, path) => sum + statSync(join(stage, path)).size, 0)
  const write = (name: string, content: string) => writeFileSync(join(stage, 'DEBIAN', name), content)
  mkdirSync(join(stage, 'DEBIAN'))
  write('control', controlOf(product, architecture, release, Math.ceil(bytes / 1024)))
  write('conffiles', `/etc/selvedge/${product.section}.json\n`)
  write(
    'md5sums',
    files
      .filter((path) => !path.startsWith('etc/'))
      .map(
        (path) =>
          `${createHash('md5')
            .update(readFileSync(join(stage, path)))
            .digest('hex')}  ${path}\n`,
      )
      .join(''),
  )
  for (const script of ['preinst', 'postinst', 'prerm', 'postrm'])
    write(
      script,
      readFileSync(join(root, 'packaging/deb/scripts', script), 'utf8')
        .replaceAll('@name@', product.name)
        .replaceAll('@section@', product.section),
    )
}

/** Paths of the regular files below a folder, in order. */
const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name).slice(folder.length + 1))
    .toSorted()
