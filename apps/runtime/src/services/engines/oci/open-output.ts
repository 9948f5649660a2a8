/**
 * Lets programs open their standard output and error again, as `/dev/stdout` or `/proc/self/fd/1`: images of web servers have log files
 * that are links to these. They are pipes that Podman makes as root of the device. No program in a user namespace may open them, so the
 * permissions are changed before the program starts, if the runtime runs as root.
 */
import { chmodSync, statSync } from 'node:fs'
import * as answers from './answers.ts'
import type { EngineApi } from './engine-api.ts'

/**
 * Makes the process of a container without starting its program.
 *
 * @param isNeeded whether the start fails without it; else an engine that cannot do it is no failure here
 */
export async function initContainer(api: EngineApi, name: string, isNeeded: boolean): Promise<void> {
  if (!isNeeded && !canOpenOutput()) return
  await api.send('POST', `/libpod/containers/${name}/init`).catch((cause) => {
    // What the engine lacks stops the start itself, with a reason.
    if (isNeeded) throw cause
  })
}

/** Where the engine has a virtual machine, its pipes are in there. */
export const canOpenOutput = (): boolean => process.platform === 'linux' && process.getuid?.() === 0

/**
 * To be called between `initContainer` and the start. An engine or a device where that fails runs the container without.
 *
 * @param name of the container
 */
export async function openOutput(api: EngineApi, name: string): Promise<void> {
  if (process.platform !== 'linux' || !canOpenOutput()) return
  try {
    const { State } = await api.read(`/containers/${name}/json`, answers.inspected)
    if (!State.Pid) return
    for (const each of [1, 2]) {
      const path = `/proc/${State.Pid}/fd/${each}`
      if (statSync(path).isFIFO()) chmodSync(path, 0o622)
    }
  } catch {
    // What the engine lacks stops the start itself, with a reason.
  }
}
