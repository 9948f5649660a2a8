/** What identifies a release: one version and one maintainer, from the root package.json, and one time, from the commit. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Maintainer, readMaintainer } from './maintainer.ts'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

export interface Release {
  readonly version: string
  /** Unix seconds: `SOURCE_DATE_EPOCH`, or the time of the commit. It is in every artifact that has a time. */
  readonly epochSeconds: number
  readonly maintainer: Maintainer
}

/**
 * @param maintainer `Name <address>`; left out: the author in package.json
 * @throws Error if that has another form, if SOURCE_DATE_EPOCH is not a number of seconds, or if there is neither that variable nor a commit
 */
export function readRelease(maintainer?: string): Release {
  const { version, author } = readJson<{ version: string; author: string }>(join(root, 'package.json'))
  const { SOURCE_DATE_EPOCH: given = commitTime() } = process.env
  if (!/^\d{1,11}$/.test(given))
    throw new Error(
      `SOURCE_DATE_EPOCH is ${JSON.stringify(given)}; expected Unix seconds, such as ${commitTime()}`,
    )
  return { version, epochSeconds: Number(given), maintainer: readMaintainer(maintainer ?? author) }
}

const commitTime = (): string =>
  execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim()

export const readJson = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T
