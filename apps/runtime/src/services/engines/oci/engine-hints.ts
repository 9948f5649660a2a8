/** What to do about a container engine that is missing, that this user may not use, or that does not answer. */
import { userInfo } from 'node:os'
import { isInFolder } from '@selvedge/protocol'

/** User of the installed service: see `packaging/systemd`. */
const serviceUser = 'selvedge'

function isService(): boolean {
  try {
    return userInfo().username === serviceUser
  } catch {
    // A user ID without an entry in /etc/passwd.
    return false
  }
}

/** @param searched what `findEngineSocket` searched. @param platform of Node */
export function missingHint(searched: readonly string[], platform: string, ofService = isService()): string {
  const denied = searched.find((each) => each.endsWith(deniedMark))
  if (denied !== undefined) return deniedHint(denied, ofService)
  if (platform !== 'linux')
    return 'Start Docker Desktop or the machine of Podman (podman machine start), or name a socket in oci.socket.'
  return ofService
    ? 'On Debian: sudo apt-get install -y podman && sudo selvedge service podman. Or name the socket of another engine in oci.socket.'
    : 'Install Podman and start its socket (systemctl enable --now podman.socket, or systemctl --user enable --now podman.socket as your user), or Docker, or name a socket in oci.socket.'
}

/** The end of an entry of `searched`: a socket that may be there. */
export const deniedMark = '(permission denied)'

/** @param socketPath that this user may not open */
export function deniedHint(socketPath: string, ofService = isService()): string {
  if (socketPath.includes('docker'))
    return ofService
      ? `Who may use Docker can become root. To allow it: sudo usermod -aG docker ${serviceUser} && sudo systemctl restart ${serviceUser}`
      : 'Add your user to the group docker, sign in again, and start the runtime again.'
  return ofService
    ? 'Who may use the Podman of the system can become root. To allow it: sudo selvedge service podman'
    : 'Use Podman as your own user: systemctl --user enable --now podman.socket, and start the runtime again.'
}

/** @param cause of a request that had no answer */
export function unansweredHint(socketPath: string, cause: unknown): string {
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'EACCES' || code === 'EPERM') return deniedHint(socketPath)
  const unit = ['podman', 'docker'].find((each) => socketPath.includes(each))
  return unit === undefined
    ? 'Start the engine again.'
    : `Start the engine again: sudo systemctl restart ${unit}.socket`
}

/** System calls of an engine that mounts a folder; Docker tries to make one that it does not see. */
const mounting = new Set(['mkdir', 'stat', 'lstat', 'statfs', 'open'])

/**
 * Whether a refusal means that the engine runs as a user that may not open what the runtime mounts into each container.
 *
 * @param text of the refusal, such as `mkdir /var/lib/selvedge: permission denied`
 * @param folders of the runtime
 */
export function isOfOtherUser(text: string, folders: readonly string[]): boolean {
  const [before = '', denied] = text.split(/: permission denied/i)
  const [path = '', call = ''] = before.split(' ').toReversed()
  const isAbove = (one: string, other: string) => one === other || isInFolder(other, one)
  return (
    denied !== undefined &&
    mounting.has(call.toLowerCase()) &&
    folders.some((each) => isAbove(each, path) || isAbove(path, each))
  )
}

/** @param user ID of the runtime's user */
export const otherUserHint = (user = process.getuid?.()): string =>
  user === 0
    ? 'The runtime runs as root, and the engine does not: start the engine of root (systemctl enable --now podman.socket) and name its socket in oci.socket, or run the runtime as the user of the engine.'
    : 'Use the engine of the user of the runtime: systemctl --user enable --now podman.socket, and leave oci.socket empty.'
