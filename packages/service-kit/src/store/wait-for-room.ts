/** A start on a full disk waits: half a start leaves half a state, and a program that ends again and again is given up. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../log/index.ts'
import { makeFolder } from './make-folder.ts'

/** Bytes that a first start may need, and milliseconds between two attempts to write them. */
const neededBytes = 1024 * 1024
const attemptMs = 2000

/**
 * Waits until the disk of a folder has room for a start. It logs when it begins to wait, and when it continues.
 *
 * @param folder made if it is not there
 * @throws what the signal was aborted with; any failure of the disk but a full one
 */
export async function waitForRoom(folder: string, log: Log, stopped: AbortSignal): Promise<void> {
  for (let isWaiting = false; ; isWaiting = true) {
    if (hasRoom(folder)) {
      if (isWaiting) log.info('the disk has space again; the start continues', { folder })
      return
    }
    if (!isWaiting) log.warn('the disk is full; the start waits until there is room', { folder, neededBytes })
    await pause(attemptMs, undefined, { signal: stopped })
  }
}

/** Written and synced: some file systems find out no earlier that they are full. */
function hasRoom(folder: string): boolean {
  const path = join(folder, 'room-for-start')
  let file: number | undefined
  try {
    makeFolder(folder)
    file = openSync(path, 'w', 0o600)
    for (let left = neededBytes; left > 0; ) left -= writeSync(file, Buffer.alloc(Math.min(left, 65_536), 1))
    fsyncSync(file)
    return true
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT') return false
    throw cause
  } finally {
    if (file !== undefined) closeSync(file)
    rmSync(path, { force: true })
  }
}
