/** Which release may follow the installed one, on real folders, archives and signatures. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { arch, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { create } from 'tar'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { preAuthEncoding, writeEnvelope } from '../release/envelope.ts'
import { rawPublicKey } from '../release/keys.ts'
import { statementType, writeStatement } from '../release/statement.ts'
import { readInstallation } from './installation.ts'
import { type UpgradeOptions, upgrade } from './upgrade.ts'

const now = Date.UTC(2026, 0, 1) / 1000
const [ours, theirs] = [1, 2].map(() => generateKeyPairSync('ed25519')) as [KeyPair, KeyPair]
type KeyPair = { publicKey: KeyObject; privateKey: KeyObject }
const architecture = arch() === 'x64' ? 'amd64' : arch()

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-upgrade-'))
  mkdirSync(join(folder, 'state'))
  mkdirSync(join(folder, 'prefix/releases'), { recursive: true })
  writeRelease(join(folder, 'prefix/releases/1.2.3'), { version: '1.2.3' })
  link('current', '1.2.3')
})
afterEach(() => rmSync(folder, { recursive: true }))

const link = (name: string, version: string) =>
  symlinkSync(join('releases', version), join(folder, 'prefix', name))
const current = () => basename(readlinkSync(join(folder, 'prefix/current')))

interface Made {
  readonly version: string
  /** Day after which the key of the release is refused. */
  readonly expires?: string
  readonly madeAt?: number
}

function writeRelease(path: string, { version, expires = '2030-01-01', madeAt = now - 86_400 }: Made): void {
  mkdirSync(path)
  const keys = [{ publicKey: rawPublicKey(ours.publicKey).toString('base64'), expires }]
  writeFileSync(join(path, 'release-keys.json'), JSON.stringify({ threshold: 1, keys }))
  writeFileSync(join(path, 'VERSION'), `${version}\n`)
  utimesSync(join(path, 'VERSION'), madeAt, madeAt)
}

interface Offered extends Made {
  /** Version in the archive; default: the signed one. */
  readonly content?: string
  readonly signer?: KeyPair
  /** Replaces the archive after it was signed. */
  readonly replaced?: boolean
}

/** Puts an archive and its signed list into the folder. @returns the path of the archive */
function offer({ version, content = version, signer = ours, replaced = false, ...made }: Offered): string {
  const name = `selvedge-${version}-linux-${architecture}.tar.gz`
  const archive = join(folder, name)
  const top = `selvedge-${version}`
  writeRelease(join(folder, top), { ...made, version: content })
  create({ gzip: true, sync: true, file: archive, cwd: folder, portable: false }, [top])
  const sha256 = createHash('sha256').update(readFileSync(archive)).digest('hex')
  const payload = Buffer.from(
    writeStatement({ version, epochSeconds: now, files: new Map([[name, sha256]]) }),
  )
  const signatures = [sign(null, preAuthEncoding(statementType, payload), signer.privateKey)]
  const text = writeEnvelope({ payloadType: statementType, payload, signatures })
  writeFileSync(join(folder, `selvedge-${version}.release.json`), text)
  if (replaced) writeFileSync(archive, 'something else')
  return archive
}

const run = (archive: string, options: Partial<UpgradeOptions> = {}) =>
  upgrade(readInstallation(join(folder, 'prefix'), join(folder, 'state')), {
    ...{ archive, releaseFile: undefined, allowDowngrade: false, now, ...options },
  })

it.each(['1.2.4', '1.3.0', '2.0.0', '1.2.4-rc.1'])('1.2.3 is followed by %s, on trial', async (version) => {
  expect(await run(offer({ version }))).toBe(version)
  expect(current()).toBe(version)
  expect(basename(readlinkSync(join(folder, 'prefix/untried')))).toBe(version)
  expect(basename(readlinkSync(join(folder, 'prefix/previous')))).toBe('1.2.3')
})

it.each(['1.2.2', '1.1.9', '0.9.9', '1.2.3-rc.1'])(
  'the older release %s is refused, unless a downgrade is asked for',
  async (version) => {
    const archive = offer({ version })
    await expect(run(archive)).rejects.toThrow(`${version} is older than 1.2.3`)
    expect(current()).toBe('1.2.3')
    expect(await run(archive, { allowDowngrade: true })).toBe(version)
  },
)

it('the installed and the previous release are refused', async () => {
  writeRelease(join(folder, 'prefix/releases/1.2.2'), { version: '1.2.2' })
  link('previous', '1.2.2')
  await expect(run(offer({ version: '1.2.3' }))).rejects.toThrow('installed already')
  await expect(run(offer({ version: '1.2.2' }), { allowDowngrade: true })).rejects.toThrow('previous release')
})

it('nothing follows a release that has not confirmed itself', async () => {
  link('untried', '1.2.3')
  await expect(run(offer({ version: '1.2.4' }))).rejects.toThrow('not confirmed itself')
})

it('a release of another key is refused', async () => {
  await expect(run(offer({ version: '1.2.4', signer: theirs }))).rejects.toThrow(
    'not signed by a release key',
  )
  expect(current()).toBe('1.2.3')
})

it('an archive that is not the signed one is refused', async () => {
  await expect(run(offer({ version: '1.2.4', replaced: true }))).rejects.toThrow('has the SHA-256')
})

it('an archive with another version than the signed one is refused', async () => {
  const archive = offer({ version: '1.2.4', content: '1.0.0' })
  await expect(run(archive)).rejects.toThrow('the archive of 1.2.4 has the version "1.0.0"')
  expect(current()).toBe('1.2.3')
})

it('a release with expired keys of its own is refused: no release could follow it', async () => {
  const archive = offer({ version: '1.2.4', expires: '2025-12-31' })
  await expect(run(archive)).rejects.toThrow('0 valid release keys')
})

it('a clock that was reset does not bring an expired key back', async () => {
  rmSync(join(folder, 'prefix/releases/1.2.3'), { recursive: true })
  writeRelease(join(folder, 'prefix/releases/1.2.3'), { version: '1.2.3', expires: '2025-12-01' })
  const archive = offer({ version: '1.2.4' })
  await expect(run(archive, { now: 0 })).rejects.toThrow('have expired')
})

it('a new release counts the time at which it was made for its own keys', async () => {
  const archive = offer({ version: '1.2.4', expires: '2026-02-01', madeAt: Date.UTC(2026, 1, 2) / 1000 })
  await expect(run(archive)).rejects.toThrow('0 valid release keys')
})

it('an archive without its signed list is refused, with the name of the missing file', async () => {
  const archive = offer({ version: '1.2.4' })
  const list = join(folder, 'selvedge-1.2.4.release.json')
  const text = readFileSync(list)
  rmSync(list)
  await expect(run(archive)).rejects.toThrow('the signed list of the release is not beside')
  writeFileSync(join(folder, 'elsewhere.json'), text)
  expect(await run(archive, { releaseFile: join(folder, 'elsewhere.json') })).toBe('1.2.4')
})
