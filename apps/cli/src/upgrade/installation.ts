/** An installation that holds several releases; `packaging/launcher/choose-release` describes its links. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../failure.ts'
import { isVersion } from '../release/statement.ts'
import { readLink, removeLink, setLink, sync } from './durable.ts'

/** `untried`: it was not started since the upgrade; `trial`: it was, and has not confirmed itself. */
type Phase = 'confirmed' | 'untried' | 'trial'

export interface Installation {
  readonly prefix: string
  /** Versions, by link. */
  readonly current: string
  readonly previous: string | undefined
  /** The last upgrade that did not confirm itself. */
  readonly failed: string | undefined
  readonly phase: Phase
  /** Versions that are there as folders. */
  readonly releases: readonly string[]
}

const maxConfirmationBytes = 80

/**
 * @param prefix the folder; left out: the one that this program is a part of
 * @param state the state folder of the runtime, in which a release confirms itself
 */
export function readInstallation(prefix: string | undefined, state: string): Installation {
  const folder = realpathSync(prefix ?? ownPrefix())
  const versionAt = (link: string) => {
    const target = readLink(join(folder, link))
    return target === undefined ? undefined : basename(target)
  }
  const current = versionAt('current')
  if (current === undefined || !existsSync(join(folder, 'releases')))
    throw new UsageError(
      `${folder} has no releases`,
      'Name the folder of the installation: --prefix /opt/selvedge',
    )
  const releases = readdirSync(join(folder, 'releases')).filter(isVersion)
  return {
    prefix: folder,
    current,
    previous: versionAt('previous'),
    failed: versionAt('failed'),
    phase: readPhase(state, versionAt),
    releases,
  }
}

function readPhase(state: string, versionAt: (link: string) => string | undefined): Phase {
  const current = versionAt('current')
  if (versionAt('untried') === current) return 'untried'
  if (versionAt('trial') !== current) return 'confirmed'
  return readConfirmation(state) === current ? 'confirmed' : 'trial'
}

/** The folder belongs to the user of the runtime, who may put anything there: no link is followed, and no pipe is waited for. */
function readConfirmation(state: string): string | undefined {
  let descriptor: number
  try {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    descriptor = openSync(join(state, 'confirmed-release'), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch {
    return undefined
  }
  try {
    const found = fstatSync(descriptor)
    return found.isFile() && found.size <= maxConfirmationBytes ? readFileSync(descriptor, 'utf8') : undefined
  } finally {
    closeSync(descriptor)
  }
}

/** The installation that a program is a part of: it is in `<prefix>/releases/<version>/cli`. */
export const prefixOf = (program: string): string | undefined =>
  /^(.*)\/releases\/[^/]+\/cli\//.exec(program)?.[1]

function ownPrefix(): string {
  const prefix = prefixOf(realpathSync(fileURLToPath(import.meta.url)))
  if (prefix !== undefined) return prefix
  throw new UsageError(
    'this installation does not hold releases: a Debian package is upgraded with apt, an npm package with npm, a clone with git',
    'Name the folder of another installation: --prefix /opt/selvedge',
  )
}

const targetOf = (version: string): string => join('releases', version)

function removeRelease(folder: string, name: string): void {
  const unnamed = takeName(folder, name)
  sync(folder)
  rmSync(unnamed, { recursive: true })
}

/** Gives a release its name; the one that had it is removed. @param tree in the same folder or below */
export function placeRelease(folder: string, name: string, tree: string): void {
  const unnamed = takeName(folder, name)
  renameSync(tree, join(folder, name))
  sync(folder)
  rmSync(unnamed, { recursive: true, force: true })
}

/** @returns the path that a release of this name has from now on */
function takeName(folder: string, name: string): string {
  const unnamed = join(folder, `.removed-${name}`)
  rmSync(unnamed, { recursive: true, force: true })
  if (existsSync(join(folder, name))) renameSync(join(folder, name), unnamed)
  return unnamed
}

/** The next start runs another release, on trial. The order matters: until the last step, the installed release starts. */
export function switchTo({ prefix, current }: Installation, version: string): void {
  removeLink(join(prefix, 'trial'))
  removeLink(join(prefix, 'failed'))
  setLink(join(prefix, 'previous'), targetOf(current))
  setLink(join(prefix, 'untried'), targetOf(version))
  setLink(join(prefix, 'current'), targetOf(version))
}

/**
 * The next start runs the previous release, which is not on trial. A release that has not confirmed itself does not become the previous
 * one: a second rollback would start it, and not on trial. @returns the version that starts
 */
export function rollBack({ prefix, current, previous, phase }: Installation): string {
  if (previous === undefined || previous === current)
    throw new UsageError(`${prefix} has no previous release`, 'See: selvedge upgrade --status')
  setLink(join(prefix, 'current'), targetOf(previous))
  if (phase === 'confirmed') setLink(join(prefix, 'previous'), targetOf(current))
  else {
    removeLink(join(prefix, 'previous'))
    setLink(join(prefix, 'failed'), targetOf(current))
  }
  for (const link of ['untried', 'trial']) removeLink(join(prefix, link))
  return previous
}

/**
 * Removes what no link leads to: older releases, and what an interrupted upgrade left. A release loses its name first, so that a half
 * removed one never has the name of a release.
 */
export function removeUnused({ prefix, current, previous }: Installation): void {
  const folder = join(prefix, 'releases')
  for (const name of readdirSync(folder))
    if (name !== current && name !== previous) removeRelease(folder, name)
  sync(folder)
}
