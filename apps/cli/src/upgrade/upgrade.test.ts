/** Which release may follow the installed one, on real folders, archives and signatures. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { arch, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { create } from 'tar'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { envelopeLimits, preAuthEncoding, writeEnvelope } from '../release/envelope.ts'
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
  /** Architecture that the signed list names; default: that of this machine. */
  readonly listed?: string
}

/** Puts an archive and its signed list into the folder. @returns the path of the archive */
function offer({ version, content = version, signer = ours, ...rest }: Offered): string {
  const { replaced = false, listed = architecture, ...made } = rest
  const name = `selvedge-${version}-linux-${architecture}.tar.gz`
  const archive = join(folder, name)
  const top = `selvedge-${version}`
  writeRelease(join(folder, top), { ...made, version: content })
  create({ gzip: true, sync: true, file: archive, cwd: folder, portable: false }, [top])
  const sha256 = createHash('sha256').update(readFileSync(archive)).digest('hex')
  const files = new Map([[name.replace(architecture, listed), sha256]])
  const payload = Buffer.from(writeStatement({ version, epochSeconds: now, files }))
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
  expect(readFileSync(join(folder, 'prefix/current/VERSION'), 'utf8')).toBe(`${version}\n`)
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

it('older releases are removed, and the installed one stays', async () => {
  for (const version of ['1.0.0', '1.1.0'])
    writeRelease(join(folder, 'prefix/releases', version), { version })
  await run(offer({ version: '1.2.4' }))
  expect(readdirSync(join(folder, 'prefix/releases')).sort()).toEqual(['1.2.3', '1.2.4'])
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

it('a release without an archive for this machine is refused', async () => {
  const archive = offer({ version: '1.2.4', listed: 'riscv64' })
  const needed = `selvedge-1.2.4-linux-${architecture}.tar.gz`
  await expect(run(archive)).rejects.toThrow(`the release 1.2.4 has no ${needed}`)
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

it('a release is refused from the second on at which its keys expire', async () => {
  const archive = offer({ version: '1.2.4', expires: '2026-01-02' })
  await expect(run(archive, { now: now + 86_400 })).rejects.toThrow('0 valid release keys')
  expect(await run(archive, { now: now + 86_399 })).toBe('1.2.4')
})

it('the time of the installed release is that of its VERSION, not that of its folder', async () => {
  utimesSync(join(folder, 'prefix/releases/1.2.3'), now, Date.UTC(2031, 0, 1) / 1000)
  expect(await run(offer({ version: '1.2.4' }))).toBe('1.2.4')
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

it('an archive without its signed list is refused, and the error names the missing file', async () => {
  const archive = offer({ version: '1.2.4' })
  const list = join(folder, 'selvedge-1.2.4.release.json')
  const text = readFileSync(list)
  rmSync(list)
  await expect(run(archive)).rejects.toThrow('the signed list of the release is not beside')
  writeFileSync(join(folder, 'elsewhere.json'), text)
  expect(await run(archive, { releaseFile: join(folder, 'elsewhere.json') })).toBe('1.2.4')
})

it.each(['old-%s', '%s.part', 'release.tar.gz'])(
  'an archive with the name %s needs the path of its signed list',
  async (pattern) => {
    const archive = offer({ version: '1.2.4' })
    const list = join(folder, 'selvedge-1.2.4.release.json')
    const renamed = join(folder, pattern.replace('%s', basename(archive)))
    renameSync(archive, renamed)
    writeFileSync(join(folder, 'selvedge-undefined.release.json'), readFileSync(list))
    await expect(run(renamed)).rejects.toThrow('the signed list of the release is not beside')
    expect(await run(renamed, { releaseFile: list })).toBe('1.2.4')
  },
)

it('a signed list may be as long as its limit', async () => {
  const archive = offer({ version: '1.2.4' })
  const list = join(folder, 'selvedge-1.2.4.release.json')
  const text = readFileSync(list, 'utf8')
  writeFileSync(list, text.padEnd(envelopeLimits.bytes + 1))
  await expect(run(archive)).rejects.toThrow('longer than')
  writeFileSync(list, text.padEnd(envelopeLimits.bytes))
  expect(await run(archive)).toBe('1.2.4')
})
