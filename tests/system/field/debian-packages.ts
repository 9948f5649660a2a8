/** File systems of Debian's packages, downloaded and unpacked: nothing is installed on this machine, and no script of a package runs. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../harness/processes.ts'

/** Downloads stay there for the next run. */
export const cache = join(root, '.cache/field')

/** What every image has: a shell, the tools of entry points, and busybox for its web server. */
const basePackages = [
  'base-files',
  'bash',
  'busybox',
  'coreutils',
  'dash',
  'debianutils',
  'findutils',
  'grep',
  'hostname',
  'libc-bin',
  'netbase',
  'passwd',
  'procps',
  'sed',
  'util-linux',
] as const

/** Folders that a program does not need. */
const unneeded = ['doc', 'info', 'lintian', 'locale', 'man'] as const

/**
 * Downloads packages with all that they depend on.
 *
 * @returns the files of the packages: paths below `cache`
 * @throws Error if there is no such package, or the mirror of this machine does not answer
 */
export function downloadPackages(packages: readonly string[]): string[] {
  const archives = join(cache, 'archives')
  const empty = join(cache, 'empty')
  for (const each of [archives, empty]) mkdirSync(join(each, 'partial'), { recursive: true })
  // As if nothing were installed.
  const status = join(cache, 'status')
  writeFileSync(status, '')
  const apt = (folder: string, mode: string) => {
    const settings = [`Dir::State::status=${status}`, `Dir::Cache::archives=${folder}`, 'Debug::NoLocking=1']
    const options = [
      ...settings.flatMap((each) => ['-o', each]),
      '--no-install-recommends',
      '-qq',
      '-y',
      mode,
    ]
    const wanted = [...basePackages, ...packages]
    return execFileSync('apt-get', [...options, 'install', ...wanted], { encoding: 'utf8', maxBuffer: 1e8 })
  }
  // It lists only what is not in the folder.
  const listed = apt(empty, '--print-uris')
  const files = [...listed.matchAll(/^'[^']+' (\S+\.deb) /gm)].map(([, file]) => join(archives, file!))
  if (!files.every((file) => existsSync(file))) apt(archives, '--download-only')
  return files
}

/** Unpacks packages into a file system in which `/bin`, `/sbin` and `/lib` are links. */
export function unpackPackages(files: readonly string[], target: string): void {
  for (const file of files) execFileSync('dpkg-deb', ['--extract', file, target])
  for (const each of ['bin', 'sbin', 'lib', 'lib64', 'lib32', 'libx32']) {
    const apart = join(target, each)
    if (!existsSync(apart)) continue
    mkdirSync(join(target, 'usr', each), { recursive: true })
    execFileSync('cp', ['--archive', '--link', `${apart}/.`, join(target, 'usr', each)])
    rmSync(apart, { recursive: true })
  }
  for (const each of unneeded) rmSync(join(target, 'usr/share', each), { recursive: true, force: true })
}

/** Links that scripts of the packages make on an installed system. */
export function linkBase(target: string): void {
  for (const each of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${each}`, join(target, each))
  if (!readdirSync(join(target, 'usr/bin')).includes('sh')) symlinkSync('dash', join(target, 'usr/bin/sh'))
  for (const each of ['awk', 'httpd', 'wget', 'nc', 'vi'])
    symlinkSync('busybox', join(target, 'usr/bin', each))
}

/** @returns the version of a package in the files of a download, without its epoch and its revision at Debian */
export function versionOf(files: readonly string[], name: string): string {
  const file = files
    .map((each) => each.slice(each.lastIndexOf('/') + 1))
    .find((each) => each.startsWith(`${name}_`))
  const version = decodeURIComponent(file?.split('_')[1] ?? '')
  return version.replace(/^\d+:/, '').replace(/[-+].*$/, '')
}
