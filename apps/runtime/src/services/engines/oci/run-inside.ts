/** Runs a command in a container, and waits for its end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { inBackground } from '@selvedge/service-kit/safely'
import * as answers from './answers.ts'
import type { EngineApi } from './engine-api.ts'

/**
 * Runs a command as the user of the container. One that does not end in time stays; it counts among the processes of the container.
 *
 * @param name of the container
 * @returns what is wrong; undefined if the command exits with 0 within the time. Never rejects
 */
export async function runInside(
  api: EngineApi,
  name: string,
  command: readonly string[],
  timeoutMs: number,
): Promise<string | undefined> {
  const problem = (text: string) => `${command[0]?.slice(0, 80)} ${text}`
  try {
    const asked = { Cmd: command, AttachStdout: true, AttachStderr: true }
    const { Id } = await api.ask(`/containers/${name}/exec`, asked, answers.created)
    const path = `/exec/${encodeURIComponent(Id)}`
    // Its answer is complete when the command has exited. Without waiting for that, Podman notices the end minutes later.
    const running = api.send('POST', `${path}/start`, { Detach: false, Tty: false }, timeoutMs)
    inBackground(
      'oci.exec',
      running.catch(() => undefined),
    )
    const hasExited = await Promise.race([running.then(() => true), sleep(timeoutMs, false, { ref: false })])
    if (!hasExited) return problem(`did not exit within ${timeoutMs} ms`)
    const { Running, ExitCode } = await api.read(`${path}/json`, answers.exec)
    if (Running) return problem('has not exited')
    return ExitCode === 0 ? undefined : problem(`exited with ${ExitCode}`)
  } catch (cause) {
    return problem(`could not be run: ${(cause as Error).message.slice(0, 200)}`)
  }
}
