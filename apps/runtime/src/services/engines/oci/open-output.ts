/**
 * Lets programs open their standard output and error again, as `/dev/stdout` or `/proc/self/fd/1`: images of web servers have log files
 * that are links to these. They are pipes that Podman makes as root of the device. No program in a user namespace may open them, so the
 * permissions are changed before the program starts, if the runtime runs as root.
 */
import { chmodSync, statSync } from 'node:fs'
import * as answers from './answers.ts'
import type { EngineApi } from './engine-api.ts'

export const canOpenOutput = (): boolean => process.getuid?.() === 0

/**
 * To be called between the creation of a container and its start. An engine or a device where that fails runs the container without.
 *
 * @param name of the container
 */
export async function openOutput(api: EngineApi, name: string): Promise<void> {
  if (!canOpenOutput()) return
  try {
    await api.send('POST', `/libpod/containers/${name}/init`)
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
