/** An attacker can write any release file. A device believes only what enough of its own keys have signed. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { envelopeLimits, preAuthEncoding, writeEnvelope } from './envelope.ts'
import { rawPublicKey, readReleaseKeys } from './keys.ts'
import { type Release, statementType, writeStatement } from './statement.ts'
import { verifyRelease } from './verify.ts'

const now = Date.UTC(2026, 0, 1) / 1000
const release: Release = {
  version: '0.2.0',
  epochSeconds: now,
  files: new Map([['selvedge-0.2.0-linux-x64.tar.gz', 'ab'.repeat(32)]]),
}
const [first, second, third] = [1, 2, 3].map(() => generateKeyPairSync('ed25519'))

const entry = (key: KeyObject, expires = '2030-01-01') => ({
  publicKey: rawPublicKey(key).toString('base64'),
  expires,
})
const keysOf = (threshold: number, ...keys: object[]) => readReleaseKeys(JSON.stringify({ threshold, keys }))

function signed(signers: readonly KeyObject[], text = writeStatement(release), payloadType = statementType) {
  const payload = Buffer.from(text)
  const signatures = signers.map((key) => sign(null, preAuthEncoding(payloadType, payload), key))
  return writeEnvelope({ payloadType, payload, signatures })
}

describe('a release is believed', () => {
  it('with the signature of one of the keys', () => {
    const keys = keysOf(1, entry(first!.publicKey), entry(second!.publicKey))
    expect(verifyRelease(signed([first!.privateKey]), keys, now)).toEqual(release)
    expect(verifyRelease(signed([second!.privateKey]), keys, now)).toEqual(release)
  })

  it('with as many as the threshold, and signatures of others beside them', () => {
    const keys = keysOf(2, entry(first!.publicKey), entry(second!.publicKey))
    const all = signed([third!.privateKey, second!.privateKey, first!.privateKey])
    expect(verifyRelease(all, keys, now).version).toBe('0.2.0')
  })
})

describe('a release is refused', () => {
  const keys = keysOf(1, entry(first!.publicKey))
  const good = signed([first!.privateKey])
  const changed = (change: (envelope: Record<string, unknown>) => void) => {
    const envelope = JSON.parse(good)
    change(envelope)
    return JSON.stringify(envelope)
  }
  const resigned = (change: (statement: Record<string, unknown>) => void) => {
    const statement = JSON.parse(writeStatement(release))
    change(statement)
    return signed([first!.privateKey], JSON.stringify(statement))
  }

  it.each<[why: string, text: string, message: RegExp]>([
    ['signed by another key', signed([second!.privateKey]), /not signed by a release key/],
    ['without a signature', signed([]), /not signed/],
    [
      'with another payload',
      changed((each) => {
        each.payload = Buffer.from(writeStatement({ ...release, version: '9.0.0' })).toString('base64')
      }),
      /not signed/,
    ],
    [
      'with another type',
      changed((each) => {
        each.payloadType = 'text/plain'
      }),
      /its type is not/,
    ],
    [
      'signed as another type',
      signed([first!.privateKey], writeStatement(release), 'text/plain'),
      /its type is not/,
    ],
    [
      'in loose base64',
      changed((each) => {
        each.payload = `${each.payload}\n`
      }),
      /payload is not base64/,
    ],
    [
      'with too many signatures',
      changed((each) => {
        each.signatures = Array.from({ length: envelopeLimits.signatures + 1 }, () => ({ sig: '' }))
      }),
      /17 signatures/,
    ],
    [
      'with a short signature',
      changed((each) => {
        each.signatures = [{ sig: 'AAAA' }]
      }),
      /64 bytes/,
    ],
    [
      'with a signature that is null',
      changed((each) => {
        each.signatures = [null]
      }),
      /sig is not base64/,
    ],
    ['that is too long', `${good}${' '.repeat(envelopeLimits.bytes)}`, /longer than/],
    ['that is not JSON', 'selvedge', /not JSON/],
    ['that is a list', '[]', /not a JSON object/],
    [
      'about something else',
      resigned((each) => {
        each.predicateType = 'https://slsa.dev/provenance/v1'
      }),
      /not about a release/,
    ],
    [
      'with a path as version',
      resigned((each) => {
        each.predicate = { version: '../../etc', epochSeconds: 1 }
      }),
      /its version is "\.\.\/\.\.\/etc"/,
    ],
    [
      'without a time',
      resigned((each) => {
        each.predicate = { version: '0.2.0' }
      }),
      /its time/,
    ],
    [
      'with a file twice',
      resigned((each) => {
        each.subject = [...(each.subject as object[]), ...(each.subject as object[])]
      }),
      /twice/,
    ],
    [
      'without a hash',
      resigned((each) => {
        each.subject = [{ name: 'a', digest: null }]
      }),
      /no SHA-256/,
    ],
    [
      'with very many files',
      resigned((each) => {
        each.subject = Array.from({ length: 257 }, () => null)
      }),
      /more than 256/,
    ],
  ])('%s', (_, text, message) => {
    expect(() => verifyRelease(text, keys, now)).toThrow(message)
  })

  it('by a key that has expired, from its day on', () => {
    const old = keysOf(1, entry(first!.publicKey, '2026-01-01'))
    expect(() => verifyRelease(good, old, now)).toThrow('1 of the release keys have expired')
    expect(verifyRelease(good, old, now - 1).version).toBe('0.2.0')
  })

  it('by two keys, one of which has expired', () => {
    const two = keysOf(2, entry(first!.publicKey, '2026-01-01'), entry(second!.publicKey))
    const both = signed([first!.privateKey, second!.privateKey])
    expect(() => verifyRelease(both, two, now)).toThrow('1 of the release keys have expired')
    expect(verifyRelease(both, two, now - 1)).toEqual(release)
  })

  it('if one key signed twice where two have to', () => {
    const two = keysOf(2, entry(first!.publicKey), entry(second!.publicKey))
    const twice = signed([first!.privateKey, first!.privateKey])
    expect(() => verifyRelease(twice, two, now)).toThrow(
      '2 release keys of the installed release (1 of 2 signatures)',
    )
  })

  it('where no keys are installed', () => {
    expect(() => verifyRelease(good, keysOf(1), now)).toThrow('has no release keys')
  })
})
