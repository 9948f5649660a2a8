/** Programs that the command line runs: those of its own installation, and no file that is merely beside it. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'

const dist = fileURLToPath(new URL('../dist', import.meta.url))
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-installed-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Puts the command line at one path of the folder, and at another a program, of its own installation or of another user. */
function run(commandLine: string, program: string) {
  cpSync(dist, join(folder, commandLine), { recursive: true })
  mkdirSync(dirname(join(folder, program)), { recursive: true })
  const mark = join(folder, 'ran')
  writeFileSync(join(folder, program), `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '')`)
  const { stderr } = spawnSync(
    process.execPath,
    [join(folder, commandLine, 'main.cjs'), 'admin', 'store', 'backup', join(folder, 'copy')],
    { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: folder, SELVEDGE_STATE: folder } },
  )
  return { hasRun: existsSync(mark), stderr }
}

it('a program of the own installation runs', () => {
  expect(run('cli/dist', 'identity/dist/store-backup.cjs').hasRun).toBe(true)
})

it.each([
  [
    'an npm package that was unpacked in a folder that others can write to',
    'package/dist',
    'identity/dist/store-backup.cjs',
  ],
  ['a package among others', 'node_modules/cli/dist', 'node_modules/identity/dist/store-backup.cjs'],
])('%s runs no program that lies beside it', (_, commandLine, program) => {
  expect(run(commandLine, program)).toEqual({
    hasRun: false,
    stderr: expect.stringMatching(/is not part of this installation/),
  })
})
