/**
 * The folder with an instance's socket, which the container gets as a read-only mount. It is below a folder of mode 0700, so
 * that no other user of the device can reach the socket. The container reaches it by its mount, with whatever user ID it has:
 * so the socket itself and the folder around it are open.
 */
import { chmodSync, closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { makeTransientFolder } from '@selvedge/service-kit/store'
import type { HostServices, Plan } from '../engine.ts'
import { removeFolder } from '../remove-folder.ts'
import { ownFileNames, timeFileNames, writeOwnFiles } from './own-files.ts'

/** Name of the socket in the folder. */
export const socketName = 'host'

/** Bytes that the path of a Unix socket may have (`sun_path` without its end): 108 on Linux, 104 on macOS and BSD. */
const maxPathBytes = process.platform === 'linux' ? 107 : 103

export interface SocketFolder {
  readonly path: string
  /** Stops listening and removes the folder. Never throws. */
  close(): Promise<void>
}

/** @throws Error on systems other than Linux, which have no way to a file by an open folder */
function openedPath(opened: number | undefined): string {
  if (process.platform === 'linux') return `/proc/self/fd/${opened}`
  throw new Error(`the state folder has a name that is too long for sockets (${maxPathBytes} bytes): move it`)
}

/**
 * Makes the folder and listens in it. An adopted container has mounted the folder, so a folder that exists is used as it is.
 *
 * @param parent folder of all instances
 * @param name of the instance's folder in it
 */
export async function openSocketFolder(
  parent: string,
  name: string,
  serve: HostServices['serve'],
  plan: Plan,
): Promise<SocketFolder> {
  makeTransientFolder(parent)
  chmodSync(parent, 0o700)
  const path = join(parent, name)
  makeTransientFolder(path)
  chmodSync(path, 0o711)
  const remove = () => removeFolder(path, [socketName, ...ownFileNames, ...timeFileNames])
  // A path by way of an open folder is short, however deep the state folder is.
  const isLong = Buffer.byteLength(join(path, socketName)) > maxPathBytes
  const opened = isLong ? openSync(path, constants.O_RDONLY | constants.O_DIRECTORY) : undefined
  const release = () => {
    if (opened !== undefined) closeSync(opened)
  }
  try {
    writeOwnFiles(path, plan)
    const listener = await serve(join(isLong ? openedPath(opened) : path, socketName), plan)
    return {
      path,
      async close() {
        await listener.close().catch(() => undefined)
        release()
        remove()
      },
    }
  } catch (cause) {
    release()
    remove()
    throw cause
  }
}
