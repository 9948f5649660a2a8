/** What is signed: an in-toto statement (v1) with the files of a release. */
import { parseObject } from './envelope.ts'

export const statementType = 'application/vnd.in-toto+json'
const format = 'https://in-toto.io/Statement/v1'
const predicateType = 'https://in-toto.io/attestation/release/v0.1'

export interface Release {
  /** Semantic version: major.minor.patch, with an optional pre-release. */
  readonly version: string
  /** Unix seconds: the time of the commit. */
  readonly epochSeconds: number
  /** SHA-256 by file name, in hexadecimal digits. */
  readonly files: ReadonlyMap<string, string>
}

const maxFiles = 256

/** `confirmed-release` holds a version, and the launcher reads no more than 80 bytes of it. */
const maxVersionLength = 64

/** A number has one spelling: 01 and 1 would be two versions of the same precedence. */
export const isVersion = (text: unknown): text is string =>
  typeof text === 'string' &&
  text.length <= maxVersionLength &&
  /^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})(-[0-9a-z]{1,16}(\.[0-9a-z]{1,16}){0,3})?$/.test(
    text,
  ) &&
  !/[-.](0\d+|\d{16})(\.|$)/.test(text)

/** Of two versions as {@link isVersion} accepts them. @returns below 0 if the first version is older, above 0 if it is newer (Semantic Versioning 2.0.0, § 11) */
export function compareVersions(first: string, second: string): number {
  const split = (version: string) => {
    const [core, prerelease = ''] = version.split('-') as [string, string?]
    return { core: core.split('.'), prerelease }
  }
  const [one, two] = [split(first), split(second)]
  return (
    compareParts(one.core, two.core) ||
    Number(one.prerelease === '') - Number(two.prerelease === '') ||
    compareParts(one.prerelease.split('.'), two.prerelease.split('.'))
  )
}

/** Numbers by value and below words; a longer list is above its start. */
function compareParts(first: readonly string[], second: readonly string[]): number {
  for (let at = 0; at < Math.max(first.length, second.length); at++) {
    const [one, two] = [first[at], second[at]]
    if (one === two) continue
    if (one === undefined || two === undefined) return one === undefined ? -1 : 1
    const [isNumber, isOther] = [one, two].map((each) => /^\d+$/.test(each))
    if (isNumber && isOther) return Number(one) - Number(two)
    if (isNumber !== isOther) return isNumber ? -1 : 1
    return one < two ? -1 : 1
  }
  return 0
}

export function writeStatement({ version, epochSeconds, files }: Release): string {
  const subject = [...files].map(([name, sha256]) => ({ name, digest: { sha256 } }))
  const predicate = { purl: `pkg:generic/selvedge@${version}`, version, epochSeconds }
  return JSON.stringify({ _type: format, subject, predicateType, predicate })
}

/** @throws Error with a sentence if it is not such a statement */
export function readStatement(text: string): Release {
  const { _type, subject, predicateType: type, predicate } = parseObject(text)
  const { version, epochSeconds } = (predicate ?? {}) as Record<string, unknown>
  if (_type !== format || type !== predicateType || !Array.isArray(subject))
    throw new Error('it is not about a release')
  if (!isVersion(version)) throw new Error(`its version is ${JSON.stringify(version)?.slice(0, 80)}`)
  if (!Number.isSafeInteger(epochSeconds) || (epochSeconds as number) < 0)
    throw new Error('its time is not a number of seconds')
  if (subject.length > maxFiles) throw new Error(`it has more than ${maxFiles} files`)
  const files = new Map(subject.map(readSubject))
  if (files.size < subject.length) throw new Error('it has a file twice')
  return { version, epochSeconds: epochSeconds as number, files }
}

function readSubject(entry: unknown): [name: string, sha256: string] {
  const { name, digest } = (entry ?? {}) as { name?: unknown; digest?: { sha256?: unknown } | null }
  const sha256 = digest?.sha256
  if (typeof name !== 'string' || typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256))
    throw new Error('a file has no name or no SHA-256')
  return [name, sha256]
}
