/**
 * `npm run package [folder] [--maintainer 'Name <address>']`: builds everything that is released into `dist/`, or into another folder. It
 * makes and contains no key. `--fast`, for tests: only this machine's architecture, without Node.js and Deno, and hardly any compression.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checksumsName, checksumsOf } from './checksums.ts'
import { canMakeDebs, makeDeb } from './deb/deb.ts'
import { packNpmPackages } from './npm/pack.ts'
import { type Architecture, architectures, ownArchitecture, products } from './products.ts'
import { readRelease, root } from './release.ts'
import { writeSbom } from './sbom.ts'
import { canMakeTarballs, makeTarball } from './tarball/tarball.ts'
import { canRun } from './tree/start-cache.ts'

const { values, positionals } = parseArgs({
  options: { fast: { type: 'boolean' }, maintainer: { type: 'string' } },
  allowPositionals: true,
})
const fast = values.fast === true
const release = readRelease(values.maintainer)
const target = resolve(positionals[0] ?? join(root, 'dist'))
const work = mkdtempSync(join(tmpdir(), 'selvedge-package-'))

/** Reports in one sentence what this machine cannot make, and how to get it. */
function makeInstallable(): void {
  const own = ownArchitecture()
  const chosen = fast && own ? [own] : (Object.keys(architectures) as Architecture[])
  const skipped = [
    ...(canMakeDebs() ? [] : ['the Debian packages, which need dpkg-deb (package "dpkg")']),
    ...(canMakeTarballs() ? [] : ['the tarballs, which need GNU tar (package "tar")']),
    ...chosen
      .filter((each) => !canRun(each))
      .map((each) => `the code cache of ${each}, which needs qemu-user-static and libc6-${each}-cross`),
  ]
  if (skipped.length > 0)
    process.stderr.write(
      `skipped: ${skipped.join(', and ')}; run "npm run package" on Debian or Ubuntu to get them.\n`,
    )
  // Node.js and Deno are most of a package, and as their projects publish them.
  const made = fast ? products.map((each) => ({ ...each, engines: [] })) : products
  for (const product of made)
    for (const architecture of chosen) {
      const common = { release, work, fast }
      if (canMakeDebs()) makeDeb(product, architecture, { ...common, target: join(target, 'deb') })
      if (canMakeTarballs()) makeTarball(product, architecture, { ...common, target: join(target, 'tar') })
    }
}

try {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  packNpmPackages(join(target, 'npm'), work)
  makeInstallable()
  writeFileSync(join(target, `selvedge-${release.version}.cdx.json`), writeSbom(release))
  const sums = checksumsOf(target)
  writeFileSync(join(target, checksumsName), sums)
  process.stdout.write(sums)
} finally {
  rmSync(work, { recursive: true, force: true })
}
