/** The findings of Debian's own checker in the packages: no error and no warning but those that the packages explain. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { canMakeDebs, makeDeb } from '../../../packaging/deb/deb.ts'
import { overridesOf } from '../../../packaging/deb/lintian.ts'
import { type Engine, ownArchitecture, type Product, products } from '../../../packaging/products.ts'
import { needs } from '../../harness/installed.ts'
import { temporaryFolder } from '../../harness/processes.ts'

/** Tags without weight ("info") about our own files, with the reason why they stay. */
const accepted: Readonly<Record<string, string>> = {
  'package-supports-alternative-init-but-no-init.d-script': 'The packages are for systemd.',
  'package-contains-documentation-outside-usr-share-doc': 'index.html is a page of the console.',
  'font-in-non-font-package': 'The font is a web font of the console, which browsers load from the service.',
  'font-outside-font-dir': 'The font is a web font of the console, which browsers load from the service.',
  'systemd-service-file-missing-documentation-key':
    'The discovery service has no command, so no manual page.',
}

/** The test does not compress what it builds. */
const ofTheTest = ['uses-no-compression-for-control-tarball', 'uses-no-compression-for-data-tarball']

/** Node.js, Deno and the bundler are as their projects publish them. */
const isEngine = (line: string): boolean =>
  /\[usr\/lib\/[\w-]+\/(?:node|deno|cli\/node_modules\/.*\.node)\]$/.test(line)

interface Finding {
  /** E: error, W: warning, I: info, P: pedantic, O: an override of the package. */
  readonly kind: string
  readonly tag: string
  readonly line: string
}

/** What it finds in each package, by the name of the package. One process checks them all: it needs seconds to start. */
async function check(debs: readonly string[]): Promise<ReadonlyMap<string, readonly Finding[]>> {
  const suppressed = `--suppress-tags=${ofTheTest.join(',')}`
  // Half of its time would be the search for spelling mistakes in Node.js.
  const args = ['--display-info', '--pedantic', '--show-overrides', suppressed, '-X', 'binaries/spelling']
  // Its exit code is another one for an error, which is a finding here.
  const command = ['--allow-root', '--fail-on=none', ...args, ...debs]
  const { stdout } = await promisify(execFile)('lintian', command, { maxBuffer: 1e7 })
  const findings = stdout.split('\n').flatMap((line) => {
    const [, kind, name, tag] = /^([EWIPOXCM]): ([^\s:]+)(?: \w+)?: (\S+)/.exec(line) ?? []
    return kind === undefined || name === undefined || tag === undefined ? [] : [{ name, kind, tag, line }]
  })
  return Map.groupBy(findings, ({ name }) => name)
}

const architecture = ownArchitecture()

const firstWith = (engine: Engine): Product => products.find(({ engines }) => engines.includes(engine))!
/** Each of Node.js and Deno is in one package only: reading it is most of the work. */
const checked: readonly Product[] = products.map((product) => ({
  ...product,
  engines: product.engines.filter((engine) => firstWith(engine) === product),
}))

describe('lintian', architecture && canMakeDebs() ? needs('lintian') : { skip: true }, () => {
  let findings: ReadonlyMap<string, readonly Finding[]>
  beforeAll(async () => {
    const folder = await temporaryFolder()
    const release = {
      version: '0.1.0',
      epochSeconds: 1_700_000_000,
      maintainer: { name: 'Jane Doe', email: 'jane@example.com' },
    }
    const options = { release, target: folder.path, work: folder.path, fast: true }
    try {
      findings = await check(checked.map((each) => makeDeb(each, architecture!, options)))
    } finally {
      await folder.remove()
    }
  })

  it.each(checked)('finds nothing in $name but what has a reason', (product) => {
    const own = findings.get(product.name) ?? []
    const unexplained = own.filter(
      ({ kind, tag, line }) =>
        kind !== 'O' && !(kind === 'I' && (isEngine(line) || Object.hasOwn(accepted, tag))),
    )
    expect(unexplained.map(({ line }) => line)).toEqual([])
    // Every override hides something: one that does not is left over.
    const overridden = own.filter(({ kind }) => kind === 'O').map(({ tag }) => tag)
    const declared = overridesOf(product).matchAll(/^[\w-]+: (\S+)/gm)
    expect(overridden.toSorted()).toEqual([...declared].map(([, tag]) => tag).toSorted())
  })
})

it.each(products)('$name explains its engines as the package that is checked with them', (product) => {
  for (const engine of product.engines) {
    const other = firstWith(engine)
    const expected = overridesOf({ ...other, engines: [engine] }).replaceAll(other.name, product.name)
    expect(overridesOf(product)).toContain(expected)
  }
})

it.each(products)('each override of $name has its reason in the line before it', (product) => {
  const lines = overridesOf(product).trimEnd().split('\n')
  for (const [at, line] of lines.entries())
    expect(line).toMatch(at % 2 === 0 ? /^# [A-Z].+\.$/ : /^[\w-]+: \S+/)
})
