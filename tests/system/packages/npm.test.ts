/** The npm packages as their users get them: published to a registry, installed from it, on every Node.js that they support. */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packNpmPackages } from '../../../packaging/npm/pack.ts'
import { launchBrowser } from '../../harness/browser.ts'
import { cliEnvOf } from '../../harness/cli.ts'
import { needs } from '../../harness/installed.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { type Registry, startRegistry, toolPath } from './registry.ts'

const nodes = {
  20: toolPath(`node-20-linux-${process.arch}/bin/node`),
  22: toolPath(`node-22-linux-${process.arch}/bin/node`),
  24: process.execPath,
}

describe('the npm packages', needs('package tools'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let registry: Registry
  let services: Services
  let tarballs: string[]
  /** Serves the page that Vite made. */
  let site: Server
  let page: string

  const at = (...path: string[]) => join(folder.path, ...path)
  /** Of the command line, installed for all users. */
  const modules = () => at('global/lib/node_modules')
  const program = () => join(modules(), 'selvedge/bin/selvedge.cjs')

  /** A copy of an installed package that names no registry of its own. */
  function copyLibrary(path: string): void {
    const copy = at('libraries', path.replaceAll('/', '-'))
    const own = join(root, 'node_modules', path)
    cpSync(own, copy, { recursive: true, filter: (each) => !each.startsWith(join(own, 'node_modules')) })
    const { publishConfig: _, ...manifest } = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8'))
    writeFileSync(join(copy, 'package.json'), JSON.stringify(manifest))
  }

  beforeAll(async () => {
    folder = await temporaryFolder()
    execFileSync(process.execPath, [join(root, 'scripts/libraries.mjs')])
    execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs')])
    for (const each of ['work', 'tarballs', 'registry']) mkdirSync(at(each))
    tarballs = packNpmPackages(at('tarballs'), at('work')).map((name) => at('tarballs', name))
    registry = await startRegistry(at('registry'))
    // What they depend on is published from the lockfile's own copy.
    const rolldown = ['rolldown', 'rolldown/node_modules/@oxc-project/types', '@rolldown/pluginutils']
    for (const each of ['zod', ...rolldown, `@rolldown/binding-linux-${process.arch}-gnu`]) copyLibrary(each)
    writeFileSync(at('libraries/package.json'), '{ "private": true, "workspaces": ["*"] }')
    const publish = ['publish', '--ignore-scripts', '--provenance=false']
    registry.npm(at('libraries'), ...publish, '--workspaces')
    for (const each of tarballs) registry.npm(folder.path, ...publish, each)
    // Each is what every Node.js of the tests gets: npm installs the same files on all of them.
    mkdirSync(at('project'))
    writeFileSync(at('project/package.json'), '{ "name": "user", "private": true, "type": "module" }')
    const install = ['install', '--no-audit', '--no-fund']
    registry.npm(at('project'), ...install, '@selvedge/client')
    registry.npm(folder.path, ...install, '--global', '--prefix', at('global'), 'selvedge')
    site = createServer((request, response) => {
      const path = at('project/dist', request.url === '/' ? 'index.html' : request.url!.slice(1))
      if (!existsSync(path)) return void response.writeHead(404).end()
      response.setHeader('Content-Type', path.endsWith('.js') ? 'text/javascript' : 'text/html')
      response.end(readFileSync(path))
    })
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    page = `http://localhost:${(site.address() as AddressInfo).port}`
    services = await startServices({ args: [`--allowedOrigins=${page}`] })
  })
  afterAll(async () => {
    site?.close()
    await services?.stop()
    await registry?.stop()
    await folder.remove()
  })

  it('contain what users need, and no source, test or private link', () => {
    for (const tarball of tarballs) {
      const names = execFileSync('tar', ['tzf', tarball], { encoding: 'utf8' }).trim().split('\n')
      expect(names).toEqual(
        expect.arrayContaining(['package/README.md', 'package/LICENSE', 'package/package.json']),
      )
      // What `selvedge init` copies into projects is source.
      const own = names.filter((name) => !/^package\/(?:templates|dist\/function)\//.test(name))
      expect(own.filter((name) => /\.test\.|(^|\/)src\/|(?<!\.d)\.ts$/.test(name))).toEqual([])
      const readme = execFileSync('tar', ['xzOf', tarball, 'package/README.md'], { encoding: 'utf8' })
      expect(readme.match(/\]\((?!https?:|#)[^)]*\)/g)).toBeNull()
    }
  })

  it.each(['selvedge-protocol', 'selvedge-client'])('%s has types for every way to import it', (name) => {
    const tarball = tarballs.find((each) => each.includes(name))!
    const attw = toolPath('@arethetypeswrong/cli/dist/index.js')
    const run = (...args: string[]) => execFileSync(process.execPath, args, { stdio: 'pipe' })
    expect(() => run(attw, tarball, '--profile', 'esm-only')).not.toThrow()
    const publint = join(root, 'node_modules/publint/src/cli.js')
    expect(() => run(publint, tarball, '--strict')).not.toThrow()
  })

  describe.each(Object.entries(nodes))('on Node.js %s', (major, node) => {
    it('the library calls a runtime and verifies a token', async () => {
      const main = at(`project/main-${major}.js`)
      writeFileSync(
        main,
        `import { createRuntimeClient } from '@selvedge/client'
        import { createAccessTokenVerifier } from '@selvedge/client/backend'
        import { createNodeFetch } from '@selvedge/client/node'
        const [url, issuer, token] = process.argv.slice(2)
        const runtime = createRuntimeClient({ url, fetch: createNodeFetch({}) })
        const { nodeId } = await runtime.getMe()
        const claims = await createAccessTokenVerifier({ issuer }).verify(token)
        console.log(JSON.stringify({ version: process.versions.node, nodeId, account: claims.account_id }))`,
      )
      const { stdout } = await promisify(execFile)(node, [
        main,
        services.url(),
        services.stack.identity.url,
        services.token,
      ])
      const { nodeId, accountId } = await services.runtime().getMe()
      const printed = JSON.parse(stdout)
      expect(printed).toEqual({ version: printed.version, nodeId, account: accountId })
      expect(printed.version).toMatch(new RegExp(`^${major}\\.`))
    })

    it('the command line makes, deploys and describes a service', async () => {
      const [program] = readdirSync(at('global/bin')).map((name) => at('global/bin', name))
      const env = { ...cliEnvOf(services.stack), SELVEDGE_ACCESS_TOKEN: services.token }
      const run = async (...args: string[]) => {
        const { stdout } = await promisify(execFile)(node, [program!, ...args, '--json'], { env })
        return JSON.parse(stdout)
      }
      const name = `made-on-${major}`
      await run('init', 'function', at(name))
      await run('image', 'pack', at(name), '-o', at(`${name}.tar`))
      await run('image', 'deploy', at(`${name}.tar`))
      const deployed = await run('container', 'deploy', '--name', name, '--image', name)
      expect(deployed).toMatchObject({ name, state: 'running' })
      expect(await run('me')).toMatchObject({ nodeId: (await services.runtime().getMe()).nodeId })
      const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      const { stdout } = await promisify(execFile)(node, [program!, '--version'])
      expect(stdout.trim()).toBe(version)
    })
  })

  it('the command line bundles TypeScript also on the oldest Node.js', () => {
    const run = (...args: string[]) => execFileSync(nodes[20], [program(), ...args], { encoding: 'utf8' })
    run('init', 'worker', at('typed'))
    expect(JSON.parse(run('image', 'pack', at('typed'), '-o', at('typed.tar'), '--json')).name).toBe('typed')
  })

  it.each([['simulate'], ['admin', 'store', 'copy', '--from', 'sqlite:a', '--to', 'sqlite:b']])(
    'the command line alone reports that it has no program for %s, and runs no package of that name',
    (...args) => {
      for (const file of ['simulator/dist/main.cjs', 'identity/dist/store-copy.cjs']) {
        mkdirSync(join(modules(), dirname(file)), { recursive: true })
        writeFileSync(join(modules(), file), 'console.log("of another package"); process.exit(0)')
      }
      const command = [program(), ...args]
      const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' })
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
      expect(stderr).toMatch(
        /is not part of this installation\n.*Run the command where the service is installed/s,
      )
    },
  )

  it('the command line names the Node.js that it needs on an older one', async () => {
    const pretend = at('pretend.cjs')
    writeFileSync(pretend, 'Object.defineProperty(process.versions, "node", { value: "16.20.2" })')
    const command = ['--require', pretend, program(), '--version']
    const failed = await promisify(execFile)(nodes[20], command).catch(
      (cause: { code: number; stderr: string }) => cause,
    )
    expect(failed).toMatchObject({
      code: 1,
      stderr:
        'error: selvedge needs Node.js 20 or later; this is 16.20.2. Install a later one, or use the Debian package.\n',
    })
  })

  it(
    'Vite bundles the library, and a page in Chromium calls the runtime with it',
    needs('chromium-headless-shell'),
    async () => {
      writeFileSync(
        at('project/index.html'),
        '<!doctype html><title>page</title><script type="module" src="/main.js"></script>',
      )
      writeFileSync(
        at('project/main.js'),
        `import { createRuntimeClient } from '@selvedge/client'
      const { nodeId } = await createRuntimeClient({ url: ${JSON.stringify(services.url())} }).getMe()
      document.title = nodeId`,
      )
      const { build } = await import('vite')
      await build({ root: at('project'), logLevel: 'error', build: { target: 'es2022' } })
      const browser = await launchBrowser()
      try {
        const tab = await browser.newPage()
        await tab.goto(`${page}/`)
        const { nodeId } = await services.runtime().getMe()
        await expect.poll(() => tab.title()).toBe(nodeId)
      } finally {
        await browser.close()
      }
    },
  )
})
