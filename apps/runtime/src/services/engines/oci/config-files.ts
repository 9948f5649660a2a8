/**
 * The files of its app that an instance gets: a copy of each, which the container mounts read-only, by itself or in a whole folder. Where the runtime knows which users of
 * the device those of the container are, a file belongs to the user and the group that the app chose, with its permissions; elsewhere
 * every user in the container can read it.
 */
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isInFolder } from '@selvedge/protocol'
import { makeTransientFolder } from '@selvedge/service-kit/store'
import type { Plan, PlanConfig } from '../engine.ts'
import type { Users } from './profile.ts'

/** A file, or a folder of files, for the engine. */
export interface ConfigMount {
  /** On the device. */
  readonly path: string
  /** In the container. */
  readonly target: string
}

export interface ConfigFiles {
  readonly mounts: readonly ConfigMount[]
  /** Never throws. */
  remove(): void
}

const suffix = '-files'

/**
 * @param parent folder of all instances
 * @param name of the instance
 * @param isNew whether the container is still to be made; one that runs has mounted the files
 * @throws NodeJS.ErrnoException; what reading a content throws
 */
export function openConfigFiles(
  parent: string,
  name: string,
  { configs = [], settings }: Pick<Plan, 'configs' | 'settings'>,
  users: Users,
  isNew: boolean,
): ConfigFiles {
  const folder = join(parent, `${name}${suffix}`)
  const remove = () => {
    try {
      rmSync(folder, { recursive: true, force: true })
    } catch {
      // What is left is removed by the next start of the runtime.
    }
  }
  if (isNew) remove()
  if (configs.length === 0) return { mounts: [], remove }
  makeTransientFolder(folder)
  chmodSync(folder, 0o711)
  const whole = settings['MCM.CONFIG_FOLDERS'].map((target, at) => ({
    target,
    path: join(folder, `folder-${at}`),
  }))
  const single: ConfigMount[] = []
  for (const config of configs) {
    const { digest, mode, uid, gid, target } = config
    const around = whole.find((each) => isInFolder(target, each.target))
    const path = around
      ? join(around.path, target.slice(around.target.length))
      : join(folder, [digest, mode.toString(8), uid, gid].join('-'))
    if (around) makeFolders(folder, dirname(path))
    else single.push({ path, target })
    if (!existsSync(path)) write(path, config, users)
  }
  return { mounts: [...single, ...whole], remove }
}

/** Every user in the container can list them, whatever the umask of the runtime. @param path in `top`, which is there */
function makeFolders(top: string, path: string): void {
  if (path === top || existsSync(path)) return
  makeFolders(top, dirname(path))
  mkdirSync(path)
  chmodSync(path, 0o755)
}

function write(path: string, { read, mode, uid, gid }: PlanConfig, users: Users): void {
  writeFileSync(path, read(), { mode: 0o400, flag: 'wx' })
  const base = users.kind === 'own' ? users.range : users.kind === 'device' ? { uid: 0, gid: 0 } : undefined
  if (base && process.getuid?.() === 0) {
    chownSync(path, base.uid + uid, base.gid + gid)
    chmodSync(path, mode)
    return
  }
  const isProgram = (mode & 0o111) !== 0
  chmodSync(path, isProgram ? 0o555 : 0o444)
}

/** Removes the files of all instances but some. Never throws. @param names of those that stay */
export function removeOtherConfigFiles(parent: string, names: ReadonlySet<string>): void {
  try {
    for (const each of readdirSync(parent))
      if (each.endsWith(suffix) && !names.has(each.slice(0, -suffix.length)))
        rmSync(join(parent, each), { recursive: true, force: true })
  } catch {
    // Without a folder of instances there are no files.
  }
}
