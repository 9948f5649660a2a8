import { existsSync, readFileSync, statSync } from 'node:fs'
import { arch } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { UsageError } from '../failure.ts'
import { envelopeLimits } from '../release/envelope.ts'
import { readReleaseKeys } from '../release/keys.ts'
import { compareVersions, type Release } from '../release/statement.ts'
import { verifyRelease } from '../release/verify.ts'
import { type Installation, removeUnused, switchTo } from './installation.ts'
import { readStart } from './regular-file.ts'
import { type OnProgress, stageRelease } from './stage.ts'

export interface UpgradeOptions {
  /** The archive: `selvedge-<version>-linux-<architecture>.tar.gz`. */
  readonly archive: string
  /** The signed list of the release's files; left out: `selvedge-<version>.release.json` beside the archive. */
  readonly releaseFile: string | undefined
  readonly allowDowngrade: boolean
  /** Unix seconds. */
  readonly now: number
  readonly onProgress?: OnProgress
}

/** By its name in Debian. */
const architecture = arch() === 'x64' ? 'amd64' : arch()

/**
 * Checks a release, unpacks it and makes it the one that starts next, on trial.
 *
 * @returns the version
 * @throws UsageError or Error with a sentence; then the same release as before starts
 */
export async function upgrade(installation: Installation, options: UpgradeOptions): Promise<string> {
  if (installation.phase !== 'confirmed')
    throw new UsageError(
      `${installation.current} has not confirmed itself yet, so there would be no safe release to return to`,
      'Start the runtime and try again, or return to the previous release: selvedge upgrade --rollback',
    )
  const release = readRelease(installation, options)
  const { version } = release
  const name = `selvedge-${version}-linux-${architecture}.tar.gz`
  const sha256 = release.files.get(name)
  if (sha256 === undefined) throw new Error(`the release ${version} has no ${name}, which this device needs`)
  expectNewer(installation, version, options.allowDowngrade)
  removeUnused(installation)
  const releases = join(installation.prefix, 'releases')
  const check = (folder: string) => expectNext(folder, version, options.now)
  await stageRelease(options.archive, sha256, releases, version, check, options.onProgress)
  switchTo(installation, version)
  return version
}

function readRelease(
  { prefix, current }: Installation,
  { archive, releaseFile, now }: UpgradeOptions,
): Release {
  const installed = join(prefix, 'releases', current)
  const keys = readReleaseKeys(readFileSync(join(installed, 'release-keys.json'), 'utf8'))
  const path = releaseFile ?? findReleaseFile(archive)
  try {
    // A clock that was reset must not bring an expired key back: the installed release was made before now.
    return verifyRelease(readStart(path, envelopeLimits.bytes + 1), keys, Math.max(now, madeAt(installed)))
  } catch (cause) {
    throw new Error(`${path} is refused: ${(cause as Error).message}`)
  }
}

/** A release with the wrong content, or one after which no other release could be installed, is a dead end. */
function expectNext(folder: string, version: string, now: number): void {
  const found = readFileSync(join(folder, 'VERSION'), 'utf8').trim()
  if (found !== version)
    throw new Error(`the archive of ${version} has the version ${JSON.stringify(found.slice(0, 80))}`)
  const { keys, threshold } = readReleaseKeys(readFileSync(join(folder, 'release-keys.json'), 'utf8'))
  const valid = keys.filter(({ expiresAt }) => Math.max(now, madeAt(folder)) < expiresAt)
  if (valid.length < threshold)
    throw new Error(
      `${version} has ${valid.length} valid release keys and needs ${threshold}, so no later release could be installed`,
    )
}

/** Unix seconds: `VERSION` has the time of its commit. */
const madeAt = (folder: string): number => statSync(join(folder, 'VERSION')).mtimeMs / 1000

function findReleaseFile(archive: string): string {
  const [, version] = /^selvedge-(.+)-linux-[^-]+\.tar\.gz$/.exec(basename(archive)) ?? []
  const path = join(dirname(archive), `selvedge-${version}.release.json`)
  if (version !== undefined && existsSync(path)) return path
  throw new UsageError(
    `the signed list of the release is not beside ${archive}`,
    'Download selvedge-<version>.release.json too, and name it: --release-file <file>',
  )
}

function expectNewer({ current, previous }: Installation, version: string, allowDowngrade: boolean): void {
  if (version === current)
    throw new UsageError(`${version} is installed already`, 'See: selvedge upgrade --status')
  if (version === previous)
    throw new UsageError(`${version} is the previous release`, 'Return to it: selvedge upgrade --rollback')
  if (compareVersions(version, current) < 0 && !allowDowngrade)
    throw new UsageError(
      `${version} is older than ${current}, which is installed`,
      'If that is what you want, add --allow-downgrade',
    )
}
