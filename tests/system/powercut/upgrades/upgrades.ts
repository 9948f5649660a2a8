/** Upgrades of an installation: whatever a power cut leaves, a whole release starts, and it is the one that was promised. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packRelease, releaseKeys } from '../../upgrade/installation.ts'
import { recordControl } from '../controls/controls.ts'
import type { PartView, Subject } from '../subject.ts'
import { startsAfter, versionsOf } from './versions.ts'

const driver = fileURLToPath(new URL('./driver.ts', import.meta.url))

/** Some kilobytes, so that a write of the release can be torn. */
const programOf = (version: string): string => `echo ${version}\n${`# ${version} is whole\n`.repeat(400)}`

function makeArchives(folder: string, rounds: number): void {
  writeFileSync(join(folder, 'release-keys.json'), releaseKeys)
  for (let round = 0; round < rounds; round++) {
    for (const version of Object.values(versionsOf(round))) {
      const own = join(folder, `packed-${version}`)
      mkdirSync(own)
      const { archive, releaseFile } = packRelease(own, version, { program: programOf(version) })
      copyFileSync(archive, join(folder, `${version}.tar.gz`))
      copyFileSync(releaseFile, join(folder, `${version}.json`))
    }
  }
}

/** Starts the service, and what a service starts that failed: a release that never confirmed itself may start once only. */
async function read(folder: string): Promise<PartView> {
  if (!existsSync(join(folder, 'installed'))) return { facts: 'not installed', alarms: [] }
  const version = startIn(folder)
  if (isGood(version)) return { facts: version, alarms: [] }
  const next = startIn(folder)
  if (!isGood(next)) throw new Error(`${next} started after ${version} had failed`)
  return { facts: version, alarms: [] }
}

/** Rounds end with a release that has confirmed itself; the one with the even number never does. */
const isGood = (version: string): boolean => version === '1.0.0' || Number(version.split('.')[1]) % 2 === 1

/** @returns the version that runs. @throws Error if there is only a part of it */
function startIn(folder: string): string {
  const prefix = join(folder, 'selvedge')
  const env = { PATH: process.env.PATH, STATE_DIRECTORY: join(folder, 'state') }
  execFileSync('sh', [join(prefix, 'choose-release')], { env, stdio: 'ignore' })
  const version = readlinkSync(join(prefix, 'current')).replace('releases/', '')
  const release = join(prefix, 'current')
  const expected = version === '1.0.0' ? `echo ${version}` : programOf(version)
  if (readFileSync(join(release, 'bin/selvedge-runtime'), 'utf8') !== `#!/bin/sh\n${expected}\n`)
    throw new Error(`the program of ${version} is not whole`)
  if (readFileSync(join(release, 'VERSION'), 'utf8') !== `${version}\n`)
    throw new Error(`${version} is not whole`)
  return version
}

export function createUpgrades(rounds: number): Subject {
  const starts = startsAfter(rounds)
  return {
    name: 'upgrades',
    parts: [{ name: 'release', owns: () => true, read }],
    contradictions: () => [],
    async record() {
      const archives = mkdtempSync(join(tmpdir(), 'powercut-archives-'))
      try {
        makeArchives(archives, rounds)
        const work = await recordControl(
          () => [process.execPath, '--conditions=source', driver, archives, String(rounds)],
          async (child) => {
            child.stdout!.resume()
            const [code] = await once(child, 'exit')
            if (code !== 0) throw new Error(`the driver exited with ${code}`)
          },
          ({ operations }) =>
            operations
              .filter((each) => each.kind === 'answer')
              .filter(({ data }) => data.toString() === 'step\n'),
          ({ release }, step) => release === starts[step - 1],
        )
        // Each step replaces the one before.
        return { ...work, steps: work.steps.map((each) => ({ ...each, about: 'the release' })) }
      } finally {
        rmSync(archives, { recursive: true })
      }
    },
  }
}
