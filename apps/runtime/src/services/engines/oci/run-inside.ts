/** Runs a command in a container, and waits for its end. */
import { setTimeout as sleep } from 'node:timers/promises'
import * as answers from './answers.ts'
import type { EngineApi } from './engine-api.ts'

/** Milliseconds between two looks at the command. */
const lookMs = 100

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
  const started = performance.now()
  try {
    const { Id } = await api.ask(`/containers/${name}/exec`, { Cmd: command }, answers.created)
    const path = `/exec/${encodeURIComponent(Id)}`
    await api.send('POST', `${path}/start`, { Detach: true })
    for (;;) {
      const { Running, ExitCode } = await api.read(`${path}/json`, answers.exec)
      if (!Running) return ExitCode === 0 ? undefined : problem(`exited with ${ExitCode}`)
      if (performance.now() - started > timeoutMs) return problem(`did not exit within ${timeoutMs} ms`)
      await sleep(lookMs)
    }
  } catch (cause) {
    return problem(`could not be run: ${(cause as Error).message.slice(0, 200)}`)
  }
}
