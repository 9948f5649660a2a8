/**
 * What a test needs beside Node. A test names its needs; where one is missing the test is skipped, and the end of the run lists
 * the missing programs with their packages.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { findPostgres, findRedis } from '@selvedge/service-kit/testing'
import type { TestOptions } from 'vitest'
import { readRanges, systemFiles } from '../../apps/runtime/src/services/engines/oci/id-ranges.ts'
import { canMakeNetworks } from './networks.ts'
import programs from './programs.json' with { type: 'json' }
import { canRunRootless } from './rootless-podman.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** Needs that are not met on this machine: the reason why a test is skipped. */
    missing?: readonly string[]
  }
}

/** A program of `programs.json`, or a right that no package gives. */
export type Need =
  | keyof typeof programs
  | 'root'
  | 'networks'
  | 'mounts'
  | 'user IDs'
  | 'rootless Podman'
  | 'package tools'
  | 'client libraries'
  | 'image tools'
  | 'npm packages'

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** @returns the absolute path of a program on `PATH`, or undefined */
export const findProgram = (name: string): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable)

export const isInstalled = (program: string): boolean => findProgram(program) !== undefined

/**
 * The Chromium that has no window: the engine is the same, and it needs a third less processor time. Elsewhere than on Debian it has
 * other names, and the one with a window does as well.
 *
 * @returns its absolute path, or undefined
 */
export const findBrowser = (): string | undefined =>
  process.env.SELVEDGE_CHROMIUM ?? findProgram('chromium-headless-shell') ?? findProgram('chromium')

/** Only root may mount, and not everywhere. */
function canMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'mount-'))
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', path]).status === 0
  if (isMounted) spawnSync('umount', [path])
  rmdirSync(path)
  return isMounted
}

/** How needs are looked up that are more than one program on `PATH`. */
const lookUps: Partial<Record<Need, () => boolean>> = {
  'aardvark-dns': () => isInstalled('aardvark-dns') || isExecutable('/usr/lib/podman/aardvark-dns'),
  authlib: () => spawnSync('/usr/bin/python3', ['-c', 'import authlib, requests']).status === 0,
  dbusmock: () =>
    isInstalled('dbus-daemon') && spawnSync('/usr/bin/python3', ['-c', 'import dbusmock']).status === 0,
  grpcio: () => spawnSync('/usr/bin/python3', ['-c', 'import grpc']).status === 0,
  'chromium-headless-shell': () => findBrowser() !== undefined,
  // Without the modules that its package only recommends, each request is answered with HTTP 500.
  'lemonldap-ng': () => {
    const modules = [
      'Lemonldap::NG::Portal::Issuer::OpenIDConnect',
      'Lemonldap::NG::Portal::Captcha::SecurityImage',
    ]
    return (
      isInstalled('plackup') && spawnSync('perl', [...modules.map((each) => `-M${each}`), '-e1']).status === 0
    )
  },
  mounts: canMount,
  'rootless Podman': canRunRootless,
  'user IDs': () => readRanges(systemFiles).length > 0,
  'client libraries': () =>
    existsSync(join(import.meta.dirname, '../system/clients/libraries/node_modules/oidc-client-ts')),
  networks: canMakeNetworks,
  'package tools': () =>
    existsSync(join(import.meta.dirname, '../system/packages/tools/node_modules/verdaccio')),
  'image tools': () =>
    existsSync(join(import.meta.dirname, '../system/services/image-tools/node_modules/webpack')),
  'npm packages': () =>
    existsSync(join(import.meta.dirname, '../system/services/npm-packages/node_modules/pg')),
  postgres: () => findPostgres() !== undefined,
  'redis-server': () => findRedis() !== undefined,
  // Some containers have the program and forbid what it does.
  strace: () => spawnSync('strace', ['-qqq', '-o', '/dev/null', 'true']).status === 0,
  root: () => process.getuid?.() === 0,
}

const known = new Map<Need, boolean>()
const isMet = (need: Need): boolean => {
  const met = known.get(need) ?? lookUps[need]?.() ?? isInstalled(need)
  known.set(need, met)
  return met
}

/** Whether the machine has all of it. */
export const has = (...needed: readonly Need[]): boolean => needed.every(isMet)

/**
 * Options of a test or a suite that needs programs or rights: `describe('…', needs('podman', 'root'), () => …)`.
 * It is skipped where one of them is missing.
 */
export function needs(...needed: readonly Need[]): TestOptions {
  const missing = needed.filter((each) => !isMet(each))
  return missing.length === 0 ? {} : { skip: true, meta: { missing } }
}
