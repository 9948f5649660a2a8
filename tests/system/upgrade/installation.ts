/** An installation of releases in a temporary folder, and releases for it, signed with keys of the test. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { arch } from 'node:os'
import { join } from 'node:path'
import { preAuthEncoding, writeEnvelope } from '../../../apps/cli/src/release/envelope.ts'
import { rawPublicKey } from '../../../apps/cli/src/release/keys.ts'
import { statementType, writeStatement } from '../../../apps/cli/src/release/statement.ts'
import { cliPath } from '../../harness/cli.ts'
import { root } from '../../harness/processes.ts'

export const launcher = join(root, 'packaging/launcher/choose-release')

const made = generateKeyPairSync('ed25519')
export const releaseKey: KeyObject = made.privateKey
export const releaseKeys = JSON.stringify({
  threshold: 1,
  keys: [{ publicKey: rawPublicKey(made.publicKey).toString('base64'), expires: '2100-01-01' }],
})

export interface Contents {
  /** Text of its runtime, a shell script; by default it prints the version. */
  readonly program?: string
  /** Adds more to the folder of the release. */
  readonly fill?: (folder: string) => void
  readonly keys?: string
}

function fillRelease(folder: string, version: string, contents: Contents): void {
  const { program = `echo ${version}`, keys = releaseKeys, fill } = contents
  mkdirSync(join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'bin/selvedge-runtime'), `#!/bin/sh\n${program}\n`, { mode: 0o755 })
  writeFileSync(join(folder, 'VERSION'), `${version}\n`)
  writeFileSync(join(folder, 'release-keys.json'), keys)
  fill?.(folder)
}

/** @returns the folder of the installation */
export function makeInstallation(folder: string, version: string, contents: Contents = {}): string {
  const prefix = join(folder, 'selvedge')
  mkdirSync(join(folder, 'state'))
  fillRelease(join(prefix, 'releases', version), version, contents)
  symlinkSync(`releases/${version}`, join(prefix, 'current'))
  writeFileSync(join(prefix, 'choose-release'), readFileSync(launcher), { mode: 0o755 })
  return prefix
}

const architecture = arch() === 'x64' ? 'amd64' : arch()

export interface Packed {
  readonly archive: string
  readonly releaseFile: string
}

/** Packs the folder of a release into an archive, which is signed with `key`. */
export function packRelease(
  folder: string,
  version: string,
  { key = releaseKey, ...contents }: Contents & { readonly key?: KeyObject } = {},
): Packed {
  const name = `selvedge-${version}-linux-${architecture}`
  fillRelease(join(folder, name), version, contents)
  const archive = join(folder, `${name}.tar.gz`)
  execFileSync('tar', ['czf', archive, '-C', folder, name])
  const releaseFile = join(folder, `selvedge-${version}.release.json`)
  signRelease(releaseFile, version, new Map([[`${name}.tar.gz`, sha256Of(archive)]]), key)
  return { archive, releaseFile }
}

export const sha256Of = (path: string): string =>
  createHash('sha256').update(readFileSync(path)).digest('hex')

export function signRelease(
  path: string,
  version: string,
  files: ReadonlyMap<string, string>,
  key: KeyObject,
): void {
  const payload = Buffer.from(writeStatement({ version, epochSeconds: 1_700_000_000, files }))
  const signatures = [sign(null, preAuthEncoding(statementType, payload), key)]
  writeFileSync(path, writeEnvelope({ payloadType: statementType, payload, signatures }))
}

/** `selvedge upgrade` for an installation with its state folder beside it. */
export function runUpgrade(prefix: string, ...args: string[]) {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', SELVEDGE_STATE: join(prefix, '../state') }
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [cliPath, 'upgrade', ...args, '--prefix', prefix, '--skip-restart', '--json'],
    { encoding: 'utf8', env },
  )
  return { status, stderr, result: status === 0 ? JSON.parse(stdout) : undefined }
}

/** Starts the runtime as its service does. @returns what the release printed: its version */
export function start(prefix: string): string {
  const env = { PATH: process.env.PATH, STATE_DIRECTORY: join(prefix, '../state') }
  const { stdout } = spawnSync(join(prefix, 'choose-release'), ['selvedge-runtime'], {
    encoding: 'utf8',
    env,
  })
  return stdout.trim()
}

/** What a release does once it works. */
export const confirm = (prefix: string, version: string): void =>
  writeFileSync(join(prefix, '../state/confirmed-release'), version)
