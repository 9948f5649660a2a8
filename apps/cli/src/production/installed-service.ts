/** The settings of a service that was installed from a package or a tarball: what its systemd unit gives it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readOwnFile } from '../context/config-folder.ts'
import type { Env } from '../context/runtime-address.ts'

export type Section = 'runtime' | 'identity' | 'discovery'

/** Name of the unit, of the user and of the state folder of each service. */
export const unitNames = {
  runtime: 'selvedge',
  identity: 'selvedge-identity',
  discovery: 'selvedge-discovery',
} as const satisfies Record<Section, string>

export interface Installation {
  /** Folder that `etc` and `var` are in. */
  readonly root: string
  /** Whether this program is a part of an installation, and not of a clone or an npm package. */
  readonly isInstalled: boolean
}

/** Where this program is: bundled in `<product>/cli/dist/main.cjs`. Only a product has the file VERSION. */
export const ownInstallation = (): Installation => ({
  root: '/',
  isInstalled:
    !import.meta.url.includes('/node_modules/') &&
    existsSync(fileURLToPath(new URL('../../VERSION', import.meta.url))),
})

/**
 * The environment that a program of an installed service needs to find its settings and its store.
 *
 * @param env of the caller, which counts before that of the unit
 * @returns `env` alone without an installation of this service, or where the caller names other settings
 */
export function unitEnv(section: Section, env: Env, { root, isInstalled } = ownInstallation()): Env {
  const settings = join(root, 'etc/selvedge', `${section}.json`)
  if (!isInstalled || env.SELVEDGE_CONFIG || env.SELVEDGE_STATE || !existsSync(settings)) return env
  return {
    SELVEDGE_CONFIG: settings,
    SELVEDGE_STATE: join(root, 'var/lib', unitNames[section]),
    ...readVariables(join(root, 'etc/selvedge', `${section}.env`)),
    ...Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== '')),
  }
}

/**
 * Variables of a file, one on a line, as for `EnvironmentFile=` (systemd.exec(5)).
 *
 * @returns nothing for a file that is missing, that this user may not read, or that other users can write
 */
export function readVariables(path: string): Env {
  const lines = textOf(path)
    .split('\n')
    .map((line) => line.trim())
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value = ''] = /^([A-Za-z_]\w*)=(.*)$/.exec(line) ?? []
      return name === undefined ? [] : [[name, /^(["'])(.*)\1$/.exec(value.trim())?.[2] ?? value.trim()]]
    }),
  )
}

function textOf(path: string): string {
  try {
    return readOwnFile(path, 0o022, '') ?? ''
  } catch {
    return ''
  }
}
