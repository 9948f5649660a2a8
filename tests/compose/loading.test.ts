/** The YAML parser is a bundle of its own: a command that reads no Compose file does not load it. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { cliPath } from '../harness/cli.ts'
import { root, temporaryFolder } from '../harness/processes.ts'

it('the command line loads the YAML parser for Compose files only', async () => {
  const folder = await temporaryFolder()
  onTestFinished(folder.remove)
  const hook = join(folder.path, 'hook.cjs')
  writeFileSync(hook, "process.on('exit', () => console.error(Object.keys(require.cache).join('\\n')))")
  const modulesOf = (...args: string[]) =>
    spawnSync(process.execPath, ['-r', hook, cliPath, ...args], { encoding: 'utf8' }).stderr
  const app = join(root, 'tests/compose/apps/minio')
  expect(modulesOf('compose', 'check', app)).toContain('yaml.lazy.cjs')
  for (const args of [['--version'], ['compose', 'check', '--help'], ['completion', 'bash']])
    expect(modulesOf(...args)).not.toContain('yaml')
})
