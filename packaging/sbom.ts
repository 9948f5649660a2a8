/**
 * The software bill of materials: CycloneDX 1.6, from the lockfile, with everything that an artifact may contain.
 *
 * `npm sbom` has no correct answer here: with `--omit dev` it leaves out what a program needs to run if the tests need it, too, and
 * without it fails on optional packages of other platforms.
 */
import { createHash } from 'node:crypto'
import { consoleParts } from './console-parts.ts'
import { nameIn, neededBy, readLockfile, withDependencies } from './lockfile.ts'
import type { Release } from './release.ts'

/** The programs and libraries, and the engines that the root package carries for them. */
const isReleased = (path: string): boolean =>
  /^(?:packages|apps)\/[^/]+$/.test(path) ||
  /^node_modules\/(?:node-linux-[^/]+|@deno\/linux-[^/]+)$/.test(path)

/** @returns JSON text: the same for the same lockfile and release, since its serial number is a hash of its content */
export function writeSbom({ version, epochSeconds, maintainer }: Release): string {
  const packages = readLockfile()
  const nameOf = (path: string) => nameIn(packages, path)
  const refOf = (path: string) => `${nameOf(path)}@${packages[path]!.version}`
  const paths = withDependencies(packages, Object.keys(packages).filter(isReleased))
  const components = paths.map((path) => {
    const { license, integrity } = packages[path]!
    const hash = integrity?.replace('sha512-', '')
    return {
      type: 'library',
      'bom-ref': refOf(path),
      name: nameOf(path),
      version: packages[path]!.version,
      purl: `pkg:npm/${nameOf(path).replace('@', '%40')}@${packages[path]!.version}`,
      ...(hash && { hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }] }),
      ...(license && { licenses: [licenseOf(license)] }),
    }
  })
  const dependencies = paths.map((path) => ({
    ref: refOf(path),
    dependsOn: [...new Set(neededBy(packages, path).map(refOf))].toSorted(),
  }))
  const content = {
    components: [...unique(components, 'bom-ref'), ...consoleParts.map(componentOf)],
    dependencies: unique(dependencies, 'ref'),
  }
  const about = { type: 'application', 'bom-ref': `selvedge-release@${version}`, name: 'selvedge', version }
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: serialNumberOf(JSON.stringify(content)),
    version: 1,
    metadata: {
      timestamp: new Date(epochSeconds * 1000).toISOString(),
      authors: [maintainer],
      component: about,
    },
    ...content,
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

const componentOf = ({ name, type, license }: (typeof consoleParts)[number]) => ({
  type,
  'bom-ref': name,
  name,
  licenses: [license === undefined ? { license: { name: 'Public domain' } } : licenseOf(license)],
})

/** An SPDX identifier, or an expression of several. */
const licenseOf = (license: string): object =>
  /[ ()]/.test(license) ? { expression: license } : { license: { id: license } }

/** The same version may be installed in two places. */
const unique = <K extends string, T extends Readonly<Record<K, string>>>(list: readonly T[], key: K): T[] => [
  ...new Map(list.map((each) => [each[key], each])).values(),
]

/** A UUID of version 8 (RFC 9562): its bits are free, and these are of a hash. */
function serialNumberOf(text: string): string {
  const hash = createHash('sha256').update(text).digest('hex')
  return `urn:uuid:${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`
}
