/** `npm start` in a fresh clone runs nothing but what the person and the clone brought. */
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stepLimitMs } from '../../harness/limits.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'

it.each(['start', 'test', 'run build', 'run check'])(
  'npm %s runs no program of a node_modules folder above the clone',
  async (command) => {
    const folder = await temporaryFolder()
    const clone = join(folder.path, 'clone')
    const planted = join(folder.path, 'node_modules/.bin')
    mkdirSync(planted, { recursive: true })
    for (const name of ['node', 'npm', 'npx', 'sh', 'env', 'git']) {
      writeFileSync(join(planted, name), `#!/bin/sh\necho ${name} >> '${folder.path}/was-run'\nexit 0\n`)
      chmodSync(join(planted, name), 0o755)
    }
    for (const each of ['package.json', 'package-lock.json', '.npmrc', 'scripts'])
      cpSync(join(root, each), join(clone, each), { recursive: true })
    // Nothing is installed: there is no registry. It is tried, though, by the npm and the Node that the person has.
    const { status, stderr } = spawnSync('npm', command.split(' '), {
      cwd: clone,
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        HOME: folder.path,
        npm_config_registry: 'http://127.0.0.1:9/',
        npm_config_fetch_retries: '0',
        npm_config_cache: join(folder.path, 'cache'),
      },
    })
    expect(stderr).toContain('installing the dependencies')
    expect(status).not.toBe(0)
    expect(existsSync(join(folder.path, 'was-run'))).toBe(false)
    await folder.remove()
  },
)

it('npx selvedge in a clone where nothing is installed runs no package that a registry has under this name', async () => {
  const folder = await temporaryFolder()
  const [clone, stranger] = ['clone', 'stranger'].map((name) => join(folder.path, name)) as [string, string]
  for (const each of [clone, stranger]) mkdirSync(each)
  for (const each of ['package.json', '.npmrc']) cpSync(join(root, each), join(clone, each))
  const stated = { name: 'selvedge', version: '9.0.0', bin: { selvedge: 'run.js' } }
  writeFileSync(join(stranger, 'package.json'), JSON.stringify(stated))
  writeFileSync(
    join(stranger, 'run.js'),
    `#!/usr/bin/env node\nrequire('fs').writeFileSync('${folder.path}/was-run', '')\n`,
  )
  spawnSync('npm', ['pack', '--pack-destination', folder.path], { cwd: stranger })
  const registry = createServer(({ url }, response) => {
    const { port } = registry.address() as AddressInfo
    const dist = { tarball: `http://127.0.0.1:${port}/selvedge.tgz` }
    if (url === '/selvedge.tgz') response.end(readFileSync(join(folder.path, 'selvedge-9.0.0.tgz')))
    else if (url !== '/selvedge') response.writeHead(404).end('{}')
    else
      response.end(
        JSON.stringify({
          name: 'selvedge',
          'dist-tags': { latest: '9.0.0' },
          versions: { '9.0.0': { ...stated, dist } },
        }),
      )
  })
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  const env = {
    PATH: process.env.PATH,
    HOME: folder.path,
    npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`,
    npm_config_cache: join(folder.path, 'cache'),
  }
  const stderr = await new Promise<string>((resolve) => {
    execFile('npx', ['selvedge', 'up'], { cwd: clone, env, timeout: stepLimitMs }, (_, _out, text) =>
      resolve(text),
    ).stdin?.end()
  })
  registry.close()
  expect(existsSync(join(folder.path, 'was-run'))).toBe(false)
  expect(stderr).toMatch(/npx canceled/)
  await folder.remove()
})
