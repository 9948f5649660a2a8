/** `npm run installed`: installs, uses, upgrades, removes and purges the packages in a virtual machine with systemd. It needs some minutes. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { makeDeb } from '../../../../packaging/deb/deb.ts'
import { products } from '../../../../packaging/products.ts'
import { readRelease } from '../../../../packaging/release.ts'
import { makeTarball } from '../../../../packaging/tarball/tarball.ts'
import { makeMachine } from './machine.ts'
import { makeReleases } from './releases.ts'

const folder = mkdtempSync(join(tmpdir(), 'selvedge-machine-'))
const at = (...path: string[]) => join(folder, ...path)
const results: string[] = []
try {
  const release = readRelease()
  const files: Record<string, string> = { 'check.sh': join(import.meta.dirname, 'check.sh') }
  for (const each of ['upgrade.sh', 'checks.sh']) files[each] = join(import.meta.dirname, each)
  for (const each of ['work', 'machine', 'releases']) mkdirSync(at(each))
  for (const [name, version] of [
    ['old', release.version],
    ['new', `${release.version}.1`],
  ] as const)
    for (const product of products) {
      const options = { release: { ...release, version }, target: at(name), work: at('work'), fast: true }
      const deb = makeDeb(product, 'amd64', options)
      files[`${name}/${basename(deb)}`] = deb
    }
  for (const product of products) {
    const options = { release, target: at('tar'), work: at('work'), fast: true }
    files[`tar/${product.name}.tar.gz`] = makeTarball(product, 'amd64', options)
  }
  Object.assign(files, makeReleases(at('releases'), files['tar/selvedge.tar.gz']!))
  const machine = makeMachine(at('machine'), files, { memoryMb: 1024, cpus: 2 })
  await machine.run((line) => {
    if (/^(?:not )?ok |^info |^ {4}/.test(line)) process.stdout.write(`${line}\n`)
    results.push(line)
  })
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const count = (start: string) => results.filter((line) => line.startsWith(start)).length
process.stdout.write(`${count('ok ')} ok, ${count('not ok ')} not ok\n`)
if (!results.includes('info end') || count('not ok ') > 0) process.exit(1)
