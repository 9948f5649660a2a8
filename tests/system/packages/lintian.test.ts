/** The findings of Debian's own checker in the packages: no error and no warning but those that the packages explain. */
import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canMakeDebs, makeDeb } from '../../../packaging/deb/deb.ts'
import { overridesOf } from '../../../packaging/deb/lintian.ts'
import { ownArchitecture, type Product, products } from '../../../packaging/products.ts'
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

/** Node.js and Deno are as their projects publish them. */
const isEngine = (line: string): boolean => /\[usr\/lib\/[\w-]+\/(?:node|deno)\]$/.test(line)

interface Finding {
  /** E: error, W: warning, I: info, P: pedantic, O: an override of the package. */
  readonly kind: string
  readonly tag: string
  readonly line: string
}

async function check(deb: string): Promise<Finding[]> {
  const suppressed = `--suppress-tags=${ofTheTest.join(',')}`
  // Half of its time would be the search for spelling mistakes in Node.js.
  const args = ['--display-info', '--pedantic', '--show-overrides', suppressed, '-X', 'binaries/spelling']
  // Its exit code is another one for an error, which is a finding here.
  const { stdout } = await promisify(execFile)('lintian', ['--allow-root', '--fail-on=none', ...args, deb], {
    maxBuffer: 1e7,
  })
  return stdout.split('\n').flatMap((line) => {
    const [, kind, tag] = /^([EWIPOXCM]): \S+(?: \w+)?: (\S+)/.exec(line) ?? []
    return kind === undefined || tag === undefined ? [] : [{ kind, tag, line }]
  })
}

const architecture = ownArchitecture()

describe('lintian', architecture && canMakeDebs() ? needs('lintian') : { skip: true }, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  beforeAll(async () => {
    folder = await temporaryFolder()
  })
  afterAll(() => folder.remove())

  const findingsOf = (product: Product): Promise<Finding[]> => {
    const work = `${folder.path}/${product.name}`
    mkdirSync(work)
    const release = {
      version: '0.1.0',
      epochSeconds: 1_700_000_000,
      maintainer: { name: 'Jane Doe', email: 'jane@example.com' },
    }
    return check(makeDeb(product, architecture!, { release, target: work, work, fast: true }))
  }

  it.each(products)('finds nothing in $name but what has a reason', { timeout: 300_000 }, async (product) => {
    const findings = await findingsOf(product)
    const unexplained = findings.filter(
      ({ kind, tag, line }) =>
        kind !== 'O' && !(kind === 'I' && (isEngine(line) || Object.hasOwn(accepted, tag))),
    )
    expect(unexplained.map(({ line }) => line)).toEqual([])
    // Every override hides something: one that does not is left over.
    const overridden = findings.filter(({ kind }) => kind === 'O').map(({ tag }) => tag)
    const declared = overridesOf(product).matchAll(/^[\w-]+: (\S+)/gm)
    expect(overridden.toSorted()).toEqual([...declared].map(([, tag]) => tag).toSorted())
  })
})

it.each(products)('each override of $name has its reason in the line before it', (product) => {
  const lines = overridesOf(product).trimEnd().split('\n')
  for (const [at, line] of lines.entries())
    expect(line).toMatch(at % 2 === 0 ? /^# [A-Z].+\.$/ : /^[\w-]+: \S+/)
})
