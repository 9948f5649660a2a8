/** Opens a page in the browser of this desktop. */
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import type { Terminal } from './terminal.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Opens a page if a person sits at a desktop: both streams are a terminal, and a display and an opener exist. The opener is started
 * without a shell.
 *
 * @param url an HTTP URL of letters, digits and `. _ ~ : / ? & = % + , [ ] -` only: the opener of a desktop is a shell script
 * @returns whether an opener was started
 */
export function openPage(
  url: string,
  terminal: Terminal,
  env: Env,
  platform: string = process.platform,
): boolean {
  if (!terminal.isInteractive || !isPlain(url)) return false
  const opener = findOpener(env, platform)
  if (opener === undefined) return false
  const child = spawn(opener, [url], { detached: true, stdio: 'ignore' })
  // The URL is on the terminal as well.
  child.on('error', () => undefined)
  child.unref()
  return true
}

/** What is opened is never a program, a file, or an option of the opener. */
export const isPlain = (url: string): boolean => /^https?:\/\/[\w.~:/?&=%+,[\]-]+$/.test(url)

/** Path of the program that opens a page; undefined without one. */
export function findOpener(env: Env, platform: string): string | undefined {
  if (platform === 'darwin') return '/usr/bin/open'
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY) return undefined
  // A relative folder in PATH would be one of the current folder, which may be a stranger's.
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => isAbsolute(folder))
  return folders.map((folder) => join(folder, 'xdg-open')).find((path) => isExecutable(path))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
