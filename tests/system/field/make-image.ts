/** Images of Debian's packages: one layer that all of them share, and one with the program, its entry point and its users. */
import { execFileSync, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { savedImage } from '../../harness/archives.ts'
import { cache, downloadPackages, linkBase, unpackPackages } from './debian-packages.ts'

/** The file system of an image while it is made. */
interface Root {
  readonly path: string
  file(path: string, text: string): void
  /** An executable file. */
  script(path: string, text: string): void
  folder(path: string, owner?: number): void
  link(path: string, target: string): void
}

/** What an image is made of. */
export interface Recipe {
  readonly name: string
  /** Packages of Debian. */
  readonly packages: readonly string[]
  /** Lines of `/etc/passwd` beside that of root. */
  readonly users?: string
  /** The configuration of the image: `Entrypoint`, `Cmd`, `Volumes`, … */
  readonly config: object
  fill?(root: Root): void
}

const standardUsers = `www-data:x:33:33::/var/www:/bin/sh
nobody:x:65534:65534::/nonexistent:/bin/false
`

/** The archive of an image as `docker save` writes it. */
export function makeImage({ name, packages, users = '', config, fill }: Recipe): Buffer {
  const baseFiles = downloadPackages([])
  const files = downloadPackages(packages).filter((each) => !baseFiles.includes(each))
  const program = inFolder((path) => {
    unpack(files, path)
    const passwd = `root:x:0:0::/root:/bin/bash\n${standardUsers}${users}`
    const root = rootAt(path)
    root.file('etc/passwd', passwd)
    root.file('etc/group', passwd.replaceAll(/^([^:]+):x:(\d+):.*$/gm, '$1:x:$2:'))
    root.file('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\nservices: files\n')
    fill?.(root)
  })
  const env = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin', 'LANG=C.UTF-8']
  const { Env = [], ...others } = config as { Env?: string[] }
  return savedImage({
    name,
    layers: [baseLayer(baseFiles), program],
    config: { Env: [...env, ...Env], ...others },
  })
}

/** Unpacks packages once: the next run has them in the cache. */
function unpack(files: readonly string[], target: string): void {
  const unpacked = join(cache, 'unpacked', hash('sha256', files.join('\n'), 'hex'))
  if (!existsSync(unpacked)) {
    const making = `${unpacked}.new`
    rmSync(making, { recursive: true, force: true })
    mkdirSync(making, { recursive: true })
    unpackPackages(files, making)
    renameSync(making, unpacked)
  }
  execFileSync('cp', ['--archive', `${unpacked}/.`, target])
}

/** The layer that all images share. */
function baseLayer(files: readonly string[]): Buffer {
  const path = join(cache, 'base.tar')
  if (!existsSync(path))
    writeFileSync(
      path,
      inFolder((folder) => {
        unpackPackages(files, folder)
        linkBase(folder)
        for (const each of ['dev', 'proc', 'sys', 'root', 'run', 'tmp'])
          mkdirSync(join(folder, each), { recursive: true })
        rmSync(join(folder, 'var/run'), { force: true, recursive: true })
        symlinkSync('/run', join(folder, 'var/run'))
        chmodSync(join(folder, 'tmp'), 0o1777)
      }),
    )
  return readFileSync(path)
}

/** @returns the tar of a folder that is filled and removed */
function inFolder(fill: (path: string) => void): Buffer {
  const path = mkdtempSync(join(tmpdir(), 'field-'))
  chmodSync(path, 0o755)
  try {
    fill(path)
    // Always the same bytes, so that an engine has the layer once.
    const { stdout, stderr, status } = spawnSync(
      'tar',
      ['--numeric-owner', '--sort=name', '--mtime=@0', '-C', path, '-c', '.'],
      { maxBuffer: 2e9 },
    )
    if (status !== 0) throw new Error(`tar: ${stderr}`)
    return stdout
  } finally {
    rmSync(path, { recursive: true })
  }
}

function rootAt(path: string): Root {
  const write = (at: string, text: string, mode: number) => {
    mkdirSync(dirname(join(path, at)), { recursive: true })
    rmSync(join(path, at), { force: true })
    writeFileSync(join(path, at), text, { mode })
  }
  return {
    path,
    file: (at, text) => write(at, text, 0o644),
    script: (at, text) => write(at, text, 0o755),
    folder(at, owner = 0) {
      mkdirSync(join(path, at), { recursive: true })
      chownSync(join(path, at), owner, owner)
    },
    link(at, target) {
      mkdirSync(dirname(join(path, at)), { recursive: true })
      rmSync(join(path, at), { force: true })
      symlinkSync(target, join(path, at))
    },
  }
}

/** `gosu` of public images. */
export const asUser = (user: string): string => `exec setpriv --reuid=${user} --regid=${user} --clear-groups`

/** Installs packages of npm below a folder, without their scripts. */
export function installFromNpm(packages: readonly string[], name: string): string {
  const folder = join(cache, name)
  if (existsSync(join(folder, 'package-lock.json'))) return folder
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const npm = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--omit=dev', ...packages]
  execFileSync('npm', npm, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  return folder
}

/** The version of a package that `installFromNpm` installed. @param folder its name there */
export function npmVersion(folder: string, name: string): string {
  const path = join(cache, folder, 'node_modules', name, 'package.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).version : '?'
}
