/**
 * Makes a fresh clone ready: installs what the lockfile names, where that is not done yet. It runs on any Node from 18 on, the
 * machine's own; everything after it runs on the Node that the project carries.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The Node that everything runs on: from the registry where there is one for this machine, else the one at hand. */
export function projectNode() {
  const carried = join(root, 'node_modules', '.bin', 'node')
  if (existsSync(carried)) return carried
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  throw new Error(
    `Selvedge needs Node.js 24 or newer; this is ${process.version}, and there is no newer one in the registry for ${process.platform} on ${process.arch}`,
  )
}

export function ensureInstalled() {
  const mark = join(root, 'node_modules', '.selvedge-installed')
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return
  console.error('installing the dependencies …')
  const npm = process.env.npm_execpath
  // Not `npm ci`: it fails where a registry lacks the optional packages of other platforms. What is locked is honoured all the same.
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']
  const result = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], { cwd: root, stdio: ['ignore', 2, 2] })
    : spawnSync('npm', args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (result.status !== 0) process.exit(result.status ?? 1)
  writeFileSync(mark, lock)
}

/** Runs a program on the project's Node and ends as it ends. */
export function runOnProjectNode(args, options = {}) {
  const { status, signal } = spawnSync(projectNode(), args, { cwd: root, stdio: 'inherit', ...options })
  if (status !== 0) process.exit(status ?? (signal ? 1 : 0))
}
