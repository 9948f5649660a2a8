/**
 * The code cache of a program: what V8 compiled by the time that the program was ready and had answered once. The name of program and
 * cache is a digest of the program, since V8 compares nothing but its length.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))

/**
 * Puts the loader in place of the program; the program is beside it from now on.
 *
 * @param {string} dist folder of the bundles of a program
 */
export function addLoader(dist) {
  const main = join(dist, 'main.cjs')
  const program = `(function (exports, require, module, __filename, __dirname) {${readFileSync(main, 'latin1')}\n})\n`
  const name = `program-${createHash('sha256').update(program).digest('hex').slice(0, 16)}`
  const loader = readFileSync(join(here, 'load-program.cjs'), 'utf8')
  writeFileSync(join(dist, `${name}.js`), program)
  writeFileSync(`${main}.new`, loader.replaceAll('PROGRAM', name))
  renameSync(`${main}.new`, main)
}

/** @param {string} dist with a loader; gives the path of its program, without an extension */
export function programIn(dist) {
  const name = readdirSync(dist).find((each) => /^program-[0-9a-f]{16}\.js$/.test(each))
  if (name === undefined) throw new Error(`${dist} has no program with a loader; run scripts/bundle.mjs`)
  return join(dist, name.slice(0, -'.js'.length))
}

/**
 * Runs the program once, on the Node.js that will run it, and writes its cache. Two runs write the same bytes.
 *
 * @param {string} dist with a loader
 * @param {{ node?: readonly string[], env?: Record<string, string> }} [options] the command that runs Node.js, and its environment
 * @throws Error with what the program wrote if it did not start
 */
export function makeCodeCache(dist, { node: [command, ...args] = [process.execPath], env = {} } = {}) {
  const path = programIn(dist)
  const state = mkdtempSync(join(tmpdir(), 'selvedge-cache-'))
  try {
    // The order in which V8 writes names depends on a seed that it chooses at random.
    const run = spawnSync(command, [...args, '--random-seed=1', join(here, 'train.cjs'), path], {
      env: { ...env, SELVEDGE_STATE: state, SELVEDGE_RUNTIME_PORT: '0' },
      encoding: 'utf8',
      timeout: 300_000,
    })
    if (run.status !== 0)
      throw new Error(`${path}.js did not run: ${run.error?.message ?? (run.stderr.trim() || run.signal)}`)
    const check = spawnSync(command, [...args, join(here, 'check-cache.cjs'), path], {
      env,
      encoding: 'utf8',
    })
    if (check.status !== 0) throw new Error(`${path}.cache: ${check.error?.message ?? check.stderr.trim()}`)
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}
