/**
 * `npm run release:sign -- --key <file> [folder]`: signs the files of a release that `npm run package` made, `dist/` if no folder is named.
 *
 * The key is an Ed25519 key in PEM (`openssl genpkey -algorithm ed25519 -out release.pem`), optionally with a passphrase in
 * RELEASE_KEY_PASSPHRASE. A second key adds its signature. `--public` prints the key's entry for `packaging/release-keys.json`.
 */
import { execFileSync } from 'node:child_process'
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { preAuthEncoding, readEnvelope, writeEnvelope } from '../apps/cli/src/release/envelope.ts'
import { rawPublicKey, readReleaseKeys } from '../apps/cli/src/release/keys.ts'
import { statementType, writeStatement } from '../apps/cli/src/release/statement.ts'
import { checksumsName, checksumsOf, signedName } from './checksums.ts'
import { isPlaceholder, type Maintainer } from './maintainer.ts'
import { readJson, root } from './release.ts'

function readPrivateKey(path: string): KeyObject {
  if (statSync(path).mode & 0o077)
    throw new Error(`other users can read ${path}; run: chmod 600 ${JSON.stringify(path)}`)
  const key = createPrivateKey({
    key: readFileSync(path),
    passphrase: process.env.RELEASE_KEY_PASSPHRASE,
  })
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`${path} is a key of ${key.asymmetricKeyType}; expected ed25519`)
  return key
}

/**
 * The files by their checksums, after a check that these are still true. Each has its name without a folder: people download single
 * files, and the device knows an archive by its name.
 */
function readFiles(folder: string): Map<string, string> {
  const path = join(folder, checksumsName)
  if (!existsSync(path)) throw new Error(`${path} is missing; run "npm run package" first`)
  const sums = readFileSync(path, 'utf8')
  if (sums !== checksumsOf(folder))
    throw new Error(`the files in ${folder} are not those of its ${checksumsName}`)
  const lines = sums.trim().split('\n')
  const files = new Map(lines.map((line) => [basename(line.slice(66)), line.slice(0, 64)]))
  if (files.size < lines.length) throw new Error(`two files in ${folder} have the same name`)
  return files
}

/**
 * Version and time of what was packaged, from its bill of materials: the checkout may have changed since.
 *
 * @throws Error if the packages name a maintainer without a mail address that can exist
 */
function readPackaged(folder: string, names: readonly string[]): { version: string; epochSeconds: number } {
  const name = names.find((each) => each.endsWith('.cdx.json'))
  if (!name) throw new Error(`${folder} has no bill of materials; run "npm run package" again`)
  const { metadata } = readJson<{
    metadata: { timestamp: string; authors: readonly Maintainer[]; component: { version: string } }
  }>(join(folder, name))
  const placeholder = metadata.authors.find(({ email }) => isPlaceholder(email))
  if (placeholder)
    throw new Error(
      `the packages in ${folder} name ${placeholder.email} as their maintainer, an address that cannot exist; set "author" in package.json, or: npm run package -- --maintainer 'Name <address>'`,
    )
  return { version: metadata.component.version, epochSeconds: Date.parse(metadata.timestamp) / 1000 }
}

/**
 * Devices with this release check the next one by the keys that this one has in it.
 *
 * @throws Error if an archive for devices has no keys: no later release could be installed
 */
function expectKeysFor(folder: string): void {
  const archives = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^selvedge-\d[^/]*-linux-\w+\.tar\.gz$/.test(basename(path)),
  )
  for (const archive of archives) {
    const args = ['--extract', '--gzip', '--to-stdout', '--wildcards', '--file', join(folder, archive)]
    const text = execFileSync('tar', [...args, '*/release-keys.json'], { encoding: 'utf8' })
    if (readReleaseKeys(text).keys.length === 0)
      throw new Error(
        `${archive} has no keys: devices with it could install no later release; add the line of "npm run release:sign -- --key <file> --public" to packaging/release-keys.json, then run "npm run package" again`,
      )
  }
}

/** The signatures that are there already, if they are of the same payload. */
function signaturesIn(path: string, payload: Buffer): Buffer[] {
  if (!existsSync(path)) return []
  const earlier = readEnvelope(readFileSync(path, 'utf8'))
  return earlier.payload.equals(payload) ? [...earlier.signatures] : []
}

function signRelease(key: KeyObject, folder: string): string {
  const files = readFiles(folder)
  const release = { ...readPackaged(folder, [...files.keys()]), files }
  expectKeysFor(folder)
  const path = join(folder, signedName(release.version))
  const payload = Buffer.from(writeStatement(release))
  const signed = preAuthEncoding(statementType, payload)
  const publicKey = createPublicKey(key)
  const others = signaturesIn(path, payload).filter((each) => !verify(null, signed, publicKey, each))
  const signatures = [...others, sign(null, signed, key)]
  writeFileSync(path, writeEnvelope({ payloadType: statementType, payload, signatures }))
  return `${path}: ${files.size} files of version ${release.version}, ${signatures.length} signatures\n`
}

function main(): string {
  const { values, positionals } = parseArgs({
    options: { key: { type: 'string' }, public: { type: 'boolean' } },
    allowPositionals: true,
  })
  if (!values.key) throw new Error('name the key: npm run release:sign -- --key <file> [folder]')
  const key = readPrivateKey(resolve(values.key))
  if (!values.public) return signRelease(key, resolve(positionals[0] ?? join(root, 'dist')))
  const publicKey = rawPublicKey(createPublicKey(key)).toString('base64')
  const inTwoYears = new Date(Date.now() + 2 * 365 * 86_400_000).toISOString().slice(0, 10)
  return `${JSON.stringify({ publicKey, expires: inTwoYears })}\n`
}

try {
  process.stdout.write(main())
} catch (cause) {
  process.stderr.write(`error: ${(cause as Error).message}\n`)
  process.exitCode = 1
}
