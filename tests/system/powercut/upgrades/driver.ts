/**
 * The program that is recorded: it installs a release and changes it, each way once in a round, by the commands of a person and of the
 * service. After each step it writes a line; the power may be cut at any time.
 *
 * Arguments: the folder of the archives, then the number of rounds.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { makeInstallation, runUpgrade } from '../../upgrade/installation.ts'
import { versionsOf } from './versions.ts'

const [, , archives = '', rounds = ''] = process.argv
const folder = process.cwd()
const prefix = makeInstallation(folder, '1.0.0', {
  keys: readFileSync(join(archives, 'release-keys.json'), 'utf8'),
})
spawnSync('sync')
writeFileSync(join(folder, 'installed'), '')
spawnSync('sync')

const acknowledge = () => void writeSync(1, 'step\n')
acknowledge()

function upgradeTo(...args: string[]): void {
  const { status, stderr } = runUpgrade(prefix, ...args)
  if (status !== 0) throw new Error(stderr)
  acknowledge()
}

/** The service starts: the launcher chooses, and nothing more. */
function start(): void {
  spawnSync('sh', [join(prefix, 'choose-release')], {
    env: { ...process.env, STATE_DIRECTORY: join(folder, 'state') },
  })
  acknowledge()
}

/** As the runtime does once it works. */
function confirm(version: string): void {
  const path = join(folder, 'state/confirmed-release')
  const draft = openSync(`${path}.new`, 'w')
  writeFileSync(draft, version)
  fsyncSync(draft)
  closeSync(draft)
  renameSync(`${path}.new`, path)
  const state = openSync(join(folder, 'state'), 'r')
  fsyncSync(state)
  closeSync(state)
  acknowledge()
}

for (let round = 0; round < Number(rounds); round++) {
  const { good, bad } = versionsOf(round)
  const archiveOf = (version: string) => join(archives, `${version}.tar.gz`)
  const released = (version: string) => [
    archiveOf(version),
    '--release-file',
    join(archives, `${version}.json`),
  ]
  upgradeTo(...released(good))
  start()
  confirm(good)
  start()
  upgradeTo(...released(bad))
  start()
  start()
  upgradeTo(...released(bad))
  upgradeTo('--rollback')
}
