/** Reports to systemd (sd_notify), where it started this program with `Type=notify`. */
import { spawn } from 'node:child_process'
import { safely } from '../safely/safely.ts'

/** Of systemd. Not from `PATH`: the message decides whether the service counts as started. */
const program = '/usr/bin/systemd-notify'

export interface Systemd {
  /** Sends a message of sd_notify(3). Returns at once: a systemd that does not answer delays nothing. */
  send(message: 'READY=1' | 'STOPPING=1'): void
}

/**
 * Node.js cannot send to a datagram socket of systemd, so a child process does; the unit needs `NotifyAccess=all`.
 *
 * @param env its `NOTIFY_SOCKET` is removed: what this program starts must not report in its place
 * @param onFailure called when systemd did not get a message
 */
export function findSystemd(
  env: NodeJS.ProcessEnv,
  onFailure: (cause: Error) => void,
  command: string = program,
): Systemd {
  const { NOTIFY_SOCKET: socket } = env
  delete env.NOTIFY_SOCKET
  if (!socket) return { send: () => undefined }
  return {
    send(message) {
      const child = spawn(command, [message], { env: { NOTIFY_SOCKET: socket }, stdio: 'ignore' })
      child.on('error', safely('notify.error', onFailure))
      child.on(
        'exit',
        safely('notify.exit', (code: number | null) => {
          if (code !== 0) onFailure(new Error(`${command} ${message} exited with code ${code}`))
        }),
      )
      child.unref()
    },
  }
}
