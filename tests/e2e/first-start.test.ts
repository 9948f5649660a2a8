/** `npm start` in a fresh clone runs nothing but what the person and the clone brought. */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root, temporaryFolder } from '../harness/processes.ts'

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
