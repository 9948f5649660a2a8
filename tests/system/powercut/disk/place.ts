/** Puts a state of a disk into a folder, for a program to open. */
import { existsSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { State } from './disk.ts'

export interface PlaceForStates {
  /** @param select which files; folders are always there @returns the folder, which the next call empties */
  put(state: State, select?: (path: string) => boolean): string
  remove(): void
}

/** In memory where the system has such a folder: what a program syncs there costs nothing. */
const fast = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

export async function openPlace(): Promise<PlaceForStates> {
  const own = mkdtempSync(join(fast, 'powercut-'))
  const socket = await deadSocket(own)
  let count = 0
  let folder = ''
  return {
    put(state, select = () => true) {
      if (folder !== '') rmSync(folder, { recursive: true, force: true })
      // Each in a folder of its own: nothing that a state before it left open can reach it.
      folder = join(own, String(++count))
      mkdirSync(folder)
      putState(folder, state, select)
      for (const path of state.sockets) if (select(path)) linkSync(socket, join(folder, path))
      return folder
    },
    remove: () => rmSync(own, { recursive: true, force: true }),
  }
}

/** Makes its folders, files and symbolic links. @param folder an empty one */
export function putState(folder: string, state: State, select: (path: string) => boolean): void {
  for (const path of state.folders) mkdirSync(join(folder, path), { recursive: true, mode: 0o700 })
  for (const [path, content] of state.files) {
    if (!select(path)) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, path), content, { mode: 0o600 })
  }
  for (const [path, target] of state.links) if (select(path)) symlinkSync(target, join(folder, path))
}

/** A socket that nobody listens on, as a program leaves it that is killed. */
async function deadSocket(folder: string): Promise<string> {
  const [bound, kept] = [join(folder, 'bound'), join(folder, 'socket')]
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(bound, resolve))
  linkSync(bound, kept)
  await new Promise((resolve) => server.close(resolve))
  return kept
}
