/** The files that describe a Debian package: control, copyright, changelog. */
import { gzipSync } from 'node:zlib'
import { writeMaintainer } from '../maintainer.ts'
import type { Architecture, Product } from '../products.ts'
import type { Release } from '../release.ts'

/** What the programs were linked with: glibc 2.28 and the C++ library of GCC 8. */
const libraries = ['libc6 (>= 2.28)', 'libgcc-s1', 'libstdc++6 (>= 8)']
const sysusers = 'systemd | systemd-standalone-sysusers | systemd-sysusers'

/** A version that Debian sorts before its release: 1.0.0-rc.1 becomes 1.0.0~rc.1. */
export const debianVersion = (version: string): string => version.replaceAll('-', '~')

/** @param installedKiB size of the files */
export function controlOf(
  product: Product,
  architecture: Architecture,
  { version, maintainer }: Release,
  installedKiB: number,
): string {
  const fields: Readonly<Record<string, string>> = {
    Package: product.name,
    Version: debianVersion(version),
    Architecture: architecture,
    Maintainer: writeMaintainer(maintainer),
    'Installed-Size': String(installedKiB),
    Depends: [...libraries, sysusers].join(', '),
    Recommends: product.recommends.join(', '),
    Suggests: product.suggests.join(', '),
    Section: 'net',
    Priority: 'optional',
    Description: `${product.summary}\n${product.description
      .flatMap((each) => [...wrap(each, 76), '.'])
      .slice(0, -1)
      .map((line) => ` ${line}`)
      .join('\n')}`,
  }
  return Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('')
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length >= width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

export const copyrightOf = ({ name }: Product): string => `${name}: Copyright 2026 the Selvedge authors.

Licensed under the Apache License, Version 2.0. On Debian systems, the text of
this license is in /usr/share/common-licenses/Apache-2.0.

The package contains software of others. Its licenses are in
/usr/share/doc/${name}/THIRD-PARTY-NOTICES.gz.
`

/** Compressed, as the policy requires; the time in its header is 0. */
export function changelogOf({ name }: Product, { version, epochSeconds, maintainer }: Release): Uint8Array {
  const date = new Date(epochSeconds * 1000).toUTCString().replace('GMT', '+0000')
  return gzipSync(
    `${name} (${debianVersion(version)}) stable; urgency=medium\n\n  * Version ${version}. CHANGELOG.md of the project lists the changes.\n\n -- ${writeMaintainer(maintainer)}  ${date}\n`,
    { level: 9 },
  )
}
