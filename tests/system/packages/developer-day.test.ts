/** The command line of an unpacked release, outside the clone: each kind of project that it makes is deployed by it and answers. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownArchitecture, products } from '../../../packaging/products.ts'
import { makeTree } from '../../../packaging/tree/tree.ts'
import { cliEnvOf, cliPath } from '../../harness/cli.ts'
import { needs } from '../../harness/installed.ts'
import { podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { toolPath } from './registry.ts'

const release = {
  version: '9.8.7',
  epochSeconds: 1_700_000_000,
  maintainer: { name: 'Jane Doe', email: 'jane@example.com' },
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>
const at = (...path: string[]) => join(folder.path, ...path)

beforeAll(async () => {
  folder = await temporaryFolder()
  execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs')])
  const architecture = ownArchitecture()
  // Its Node.js is the one of the test.
  if (architecture) makeTree({ ...products[0]!, engines: [] }, architecture, release, at('release'))
  symlinkSync(process.execPath, at('release/node'))
  mkdirSync(at('work'))
})
afterAll(() => folder.remove())

/** Runs a line of a shell in a folder outside the clone, with the command line of the release alone. */
async function shell({ stack, token }: Services, line: string): Promise<string> {
  const env = {
    ...cliEnvOf(stack),
    PATH: `${at('release/bin')}:/usr/bin:/bin`,
    HOME: at('work'),
    SELVEDGE_ACCESS_TOKEN: token,
  }
  return (await promisify(execFile)('sh', ['-c', line], { cwd: at('work'), env })).stdout
}

describe('the command line of a release', ownArchitecture() ? {} : { skip: true }, () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.stop())

  it.each(['function', 'worker', 'wasm'])('deploys the project of init %s', async (kind) => {
    await shell(services, `selvedge init ${kind} my-${kind}`)
    expect(await shell(services, `selvedge deploy my-${kind}`)).toMatch(/^deployed \S+ \(function\), running/)
    expect(await shell(services, `selvedge curl my-${kind}`)).not.toBe('')
  })

  it('names what makes the files that a Containerfile copies', async () => {
    mkdirSync(at('work/unbuilt'))
    writeFileSync(at('work/unbuilt/Containerfile'), 'FROM scratch\nCOPY rootfs /\n')
    writeFileSync(at('work/unbuilt/package.json'), '{ "scripts": { "build": "node build.js" } }')
    await expect(shell(services, 'selvedge deploy unbuilt')).rejects.toThrow(
      /the Containerfile copies "rootfs", which unbuilt does not have\nhint: Make it first: npm run build --prefix unbuilt/,
    )
  })
})

describe(
  'the command line of a release, with Podman',
  ownArchitecture() ? needs(...podmanNeeds, 'busybox') : { skip: true },
  () => {
    let stack: PodmanServices
    beforeAll(async () => {
      stack = await startPodmanServices()
    })
    afterAll(() => stack.stop())

    it('deploys the project of init oci, also after a page of it was changed', async () => {
      const run = (line: string) => shell(stack.services, line)
      expect(JSON.parse(await run('selvedge init oci my-oci --json'))).toMatchObject({
        files: expect.arrayContaining(['rootfs', 'www']),
        next: 'selvedge dev my-oci',
      })
      expect(await run('selvedge deploy my-oci')).toMatch(/^deployed \S+ \(oci\), running/)
      await expect.poll(() => run('selvedge curl my-oci').catch(() => '')).toContain('hello from the edge')
      writeFileSync(at('work/my-oci/www/index.html'), 'another page')
      await run('selvedge deploy my-oci')
      await expect.poll(() => run('selvedge curl my-oci').catch(() => '')).toContain('another page')
    })
  },
)

describe.each(['20', '22'])('a clone on Node.js %s', needs('package tools'), (major) => {
  it('simulates on the Node.js that the project installs', async () => {
    const node = toolPath(`node-${major}-linux-${process.arch}/bin/node`)
    const args = [cliPath, 'simulate', '--nodes', '5', '--seconds', '1', '--json']
    const { stdout } = await promisify(execFile)(node, args)
    expect(JSON.parse(stdout)).toMatchObject({ nodes: 5 })
  })
})
