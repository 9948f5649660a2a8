/** What this process syncs through file handles: each path as it is while it is synced. */
import { readlinkSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'

export interface RecordedSyncs {
  /** Paths of files and folders, in order. */
  readonly paths: readonly string[]
  stop(): void
}

export async function recordSyncs(): Promise<RecordedSyncs> {
  const handle = await open(tmpdir())
  const files = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  const real = files.sync
  const paths: string[] = []
  files.sync = async function (this: FileHandle) {
    paths.push(readlinkSync(`/proc/self/fd/${this.fd}`))
    return real.call(this)
  }
  return {
    paths,
    stop() {
      files.sync = real
    },
  }
}
