/** The order in which code changes files and syncs them: what a power cut leaves depends on it. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join, relative } from 'node:path'
import { onTestFinished, vi } from 'vitest'

/**
 * Records from now on until the test ends.
 *
 * @returns each step below the folder so far: `sync a`, `link a to b`, `rename a to b`, `remove a`
 */
export function recordSteps(folder: string): string[] {
  const steps: string[] = []
  const real = { ...fs }
  const short = (path: fs.PathLike) => relative(folder, String(path)) || '.'
  const record = (step: string) => steps.push(step)
  vi.spyOn(fs, 'fsyncSync').mockImplementation((descriptor) => {
    record(`sync ${short(real.readlinkSync(join('/proc/self/fd', `${descriptor}`)))}`)
    real.fsyncSync(descriptor)
  })
  vi.spyOn(fs, 'symlinkSync').mockImplementation((target, path) => {
    record(`link ${short(path)} to ${target}`)
    real.symlinkSync(target, path)
  })
  vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
    record(`rename ${short(from)} to ${short(to)}`)
    real.renameSync(from, to)
  })
  vi.spyOn(fs, 'rmSync').mockImplementation((path, options) => {
    if (real.lstatSync(path, { throwIfNoEntry: false })) record(`remove ${short(path)}`)
    real.rmSync(path, options)
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    vi.restoreAllMocks()
    syncBuiltinESMExports()
  })
  return steps
}

/** Paths below a folder that this process has open. */
export const openBelow = (folder: string): string[] =>
  fs.readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = fs.readlinkSync(join('/proc/self/fd', descriptor))
      return path.startsWith(folder) ? [path] : []
    } catch {
      return [] // It was closed meanwhile, such as the one that read the list.
    }
  })
