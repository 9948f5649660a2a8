/** Versions, their order, and the statement about a release: only exact values are read. */
import { describe, expect, it } from 'vitest'
import { compareVersions, isVersion, readStatement, statementType, writeStatement } from './statement.ts'

describe('a version', () => {
  const of64Characters = `100000.100000.100000-${'a'.repeat(16)}.${'b'.repeat(16)}.${'c'.repeat(9)}`

  it.each([
    '0.0.0',
    '1.2.3',
    '10.20.30',
    '999999.999999.999999',
    '1.0.0-0',
    '1.0.0-rc.1',
    '1.0.0-1a.01a',
    '1.0.0-999999999999999',
    '1.0.0-123456789012345a',
    '1.0.0-abcdefghijklmnop.a.abcdefghijklmnop.z9',
    of64Characters,
  ])('may be %s', (text) => {
    expect(isVersion(text)).toBe(true)
  })

  it.each([
    ['nothing', ''],
    ['two numbers', '1.2'],
    ['four numbers', '1.2.3.4'],
    ['a text before it', 'v1.2.3'],
    ['a path before it', '../1.2.3'],
    ['a path after it', '1.2.3/..'],
    ['a line after it', '1.2.3\n'],
    ['a zero before the major version', '01.2.3'],
    ['a zero before the minor version', '1.02.3'],
    ['a zero before the patch version', '1.2.03'],
    ['a major version of 7 digits', '1000000.0.0'],
    ['a minor version of 7 digits', '0.1000000.0'],
    ['a patch version of 7 digits', '0.0.1000000'],
    ['letters as a number', '1.x.3'],
    ['an empty pre-release', '1.2.3-'],
    ['an empty part', '1.2.3-rc..1'],
    ['capital letters', '1.2.3-RC'],
    ['a hyphen in the pre-release', '1.2.3-rc-1'],
    ['five parts', '1.2.3-a.b.c.d.e'],
    ['a part of 17 characters', `1.2.3-${'a'.repeat(17)}`],
    ['a later part of 17 characters', `1.2.3-a.${'a'.repeat(17)}`],
    ['a zero before a number', '1.2.3-01'],
    ['two zeros before a number', '1.2.3-001'],
    ['a zero before a later number', '1.2.3-a.01'],
    ['a zero before a number that is not the last part', '1.2.3-01.a'],
    ['a number of 16 digits, which a double may not hold', '1.2.3-1234567890123456'],
    ['such a number before another part', '1.2.3-1234567890123456.a'],
    ['a build', '1.2.3+4'],
    ['65 characters', `${of64Characters}c`],
    ['a list with a version', ['1.2.3']],
    ['no text', undefined],
  ])('is not valid with %s', (_, text) => {
    expect(isVersion(text)).toBe(false)
  })
})

it('the order of versions is that of Semantic Versioning', () => {
  const ordered = [
    '0.9.9',
    '1.0.0-2',
    '1.0.0-10',
    '1.0.0-1a',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-beta.100',
    '1.0.0-rc.1',
    '1.0.0-rc10',
    '1.0.0-rc2',
    '1.0.0',
    '1.0.1',
    '1.0.2-rc.1',
    '1.0.10',
    '1.2.0',
    '1.10.0-alpha',
    '1.10.0',
    '2.0.0',
    '10.0.0',
  ]
  const wrong = ordered.flatMap((one, at) =>
    ordered
      .filter((two, other) => Math.sign(compareVersions(one, two)) !== Math.sign(at - other))
      .map((two) => `${one} and ${two}`),
  )
  expect(wrong).toEqual([])
})

const sha256 = 'ab'.repeat(32)
const statement = {
  _type: 'https://in-toto.io/Statement/v1',
  subject: [{ name: 'selvedge-1.2.3-linux-amd64.tar.gz', digest: { sha256 } }],
  predicateType: 'https://in-toto.io/attestation/release/v0.1',
  predicate: { purl: 'pkg:generic/selvedge@1.2.3', version: '1.2.3', epochSeconds: 1_767_225_600 },
}
const read = (changes: object) => readStatement(JSON.stringify({ ...statement, ...changes }))
const about = (changes: object) => ({ predicate: { ...statement.predicate, ...changes } })

describe('the statement about a release', () => {
  it('is one that other tools of in-toto read', () => {
    const release = {
      version: '1.2.3',
      epochSeconds: 1_767_225_600,
      files: new Map([['selvedge-1.2.3-linux-amd64.tar.gz', sha256]]),
    }
    expect(JSON.parse(writeStatement(release))).toEqual(statement)
    expect(read({})).toEqual(release)
    expect(statementType).toBe('application/vnd.in-toto+json')
  })

  it('may have 256 files, and the time 0', () => {
    const subject = Array.from({ length: 256 }, (_, at) => ({ name: `${at}`, digest: { sha256 } }))
    expect(read({ subject }).files.size).toBe(256)
    expect(read(about({ epochSeconds: 0 })).epochSeconds).toBe(0)
  })

  const subject = (entry: unknown) => ({ subject: [entry] })
  it.each<[why: string, changes: object, message: string]>([
    ['of another format', { _type: 'https://in-toto.io/Statement/v0.1' }, 'not about a release'],
    ['of something else', { predicateType: 'https://slsa.dev/provenance/v1' }, 'not about a release'],
    ['without files', { subject: undefined }, 'not about a release'],
    ['with an object as its files', { subject: {} }, 'not about a release'],
    ['without a predicate', { predicate: null }, 'its version is undefined'],
    ['with a number as its version', about({ version: 1 }), 'its version is 1'],
    ['with a fraction as its time', about({ epochSeconds: 0.5 }), 'its time is not'],
    ['with a time before 1970', about({ epochSeconds: -1 }), 'its time is not'],
    ['with a text as its time', about({ epochSeconds: '1' }), 'its time is not'],
    ['with a file that is null', subject(null), 'no name'],
    ['with a file without a name', subject({ digest: { sha256 } }), 'no name'],
    ['with a number as a name', subject({ name: 1, digest: { sha256 } }), 'no name'],
    ['with a file without hashes', subject({ name: 'a' }), 'no SHA-256'],
    ['with a file without this hash', subject({ name: 'a', digest: { sha512: sha256 } }), 'no SHA-256'],
    ['with a list as a hash', subject({ name: 'a', digest: { sha256: [sha256] } }), 'no SHA-256'],
    ['with a short hash', subject({ name: 'a', digest: { sha256: sha256.slice(1) } }), 'no SHA-256'],
    ['with a digit before a hash', subject({ name: 'a', digest: { sha256: `0${sha256}` } }), 'no SHA-256'],
    ['with a text after a hash', subject({ name: 'a', digest: { sha256: `${sha256} ` } }), 'no SHA-256'],
    ['with capitals', subject({ name: 'a', digest: { sha256: sha256.toUpperCase() } }), 'no SHA-256'],
  ])('is refused %s', (_, changes, message) => {
    expect(() => read(changes)).toThrow(message)
  })

  it('shows the start of a version that is long', () => {
    const version = 'x'.repeat(1000)
    expect(() => read(about({ version }))).toThrow(new Error(`its version is "${version.slice(0, 79)}`))
  })
})
