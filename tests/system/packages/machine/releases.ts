/** Releases for the upgrades in the virtual machine, signed with a key of the test. */
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packRelease, releaseKeys, sha256Of, signRelease } from '../../upgrade/installation.ts'

/** The first one is installed, the second replaces it, the third cannot start; the last one is older than all. */
const versions = { installed: '0.1.0', newer: '0.2.0', broken: '0.3.0', older: '0.0.9' } as const

/**
 * @param folder an empty folder
 * @param tarball the tarball of the runtime, with any version and keys
 * @returns paths by their names in the machine
 */
export function makeReleases(folder: string, tarball: string): Record<string, string> {
  const tree = join(folder, 'tree')
  mkdirSync(tree)
  execFileSync('tar', ['xzf', tarball, '-C', tree, '--strip-components=1'])
  const files: Record<string, string> = {}
  for (const version of Object.values(versions)) {
    const own = join(folder, version)
    mkdirSync(own)
    const isWhole = version === versions.installed || version === versions.newer
    const fill = (release: string) => {
      cpSync(tree, release, { recursive: true, verbatimSymlinks: true })
      writeFileSync(join(release, 'VERSION'), `${version}\n`)
      writeFileSync(join(release, 'release-keys.json'), releaseKeys)
    }
    const contents = isWhole ? { fill } : { program: 'echo "this release cannot start" >&2; exit 1' }
    const { archive, releaseFile } = packRelease(own, version, contents)
    for (const path of [archive, releaseFile]) files[`releases/${version}/${basename(path)}`] = path
  }
  const archive = Object.keys(files).find((path) => path.startsWith(`releases/${versions.newer}/`))!
  const other = join(folder, 'other-key.release.json')
  const hashes = new Map([[basename(archive), sha256Of(files[archive]!)]])
  signRelease(other, versions.newer, hashes, generateKeyPairSync('ed25519').privateKey)
  files['releases/other-key.release.json'] = other
  return files
}
