/** A package registry on the loopback, with the packages of this project and what they depend on. It has nothing else, and no access to another registry. */
import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@selvedge/service-kit/testing'
import { root } from '../../harness/processes.ts'

export const toolPath = (path: string): string => join(root, 'tests/system/packages/tools/node_modules', path)

export interface Registry {
  /** Runs npm in a folder against this registry alone. */
  npm(folder: string, ...args: string[]): string
  stop(): Promise<void>
}

const configuration = (folder: string): string => `
storage: ${folder}/storage
auth: { htpasswd: { file: ${folder}/users, max_users: -1 } }
uplinks: {}
max_body_size: 100mb
packages: { '**': { access: $all, publish: $anonymous } }
log: { type: stdout, format: json, level: warn }
`

/** @param folder an empty folder of its own */
export async function startRegistry(folder: string): Promise<Registry> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  writeFileSync(join(folder, 'config.yaml'), configuration(folder))
  // npm publishes with a token only; this registry accepts any.
  writeFileSync(join(folder, 'npmrc'), `registry=${url}\n//127.0.0.1:${port}/:_authToken=anonymous\n`)
  const program = toolPath('verdaccio/bin/verdaccio')
  const server = spawn(
    process.execPath,
    [program, '--config', join(folder, 'config.yaml'), '--listen', `127.0.0.1:${port}`],
    { stdio: 'ignore', env: { PATH: process.env.PATH, HOME: folder } },
  )
  const closed = new Promise<void>((resolve) => server.once('close', () => resolve()))
  while (
    !(await fetch(`${url}-/ping`).then(
      (each) => each.ok,
      () => false,
    ))
  ) {
    if (server.exitCode !== null) throw new Error(`the registry exited with code ${server.exitCode}`)
    await sleep(50)
  }
  return {
    npm: (from, ...args) =>
      execFileSync(
        'npm',
        [...args, '--userconfig', join(folder, 'npmrc'), '--cache', join(folder, 'cache')],
        {
          cwd: from,
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe'],
          env: { PATH: process.env.PATH, HOME: folder },
        },
      ),
    async stop() {
      server.kill()
      await closed
    },
  }
}
