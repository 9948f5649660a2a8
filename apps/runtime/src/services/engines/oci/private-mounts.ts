/** Whether the mounts of a device reach the programs that Podman starts in a mount namespace of their own. */
import { readFileSync } from 'node:fs'

/** Where Podman mounts the network namespaces of containers. */
const networks = '/run/netns'

/**
 * Podman removes the network of a container with users of its own from another mount namespace. Unless the mount is shared, as systemd makes
 * all of them, that namespace does not see the network, which stays: the container does not start again then.
 *
 * @param table of mounts, see proc_pid_mountinfo(5)
 * @returns whether what is mounted below `/run/netns` stays hidden from other mount namespaces
 */
export function hidesNetworks(table: string): boolean {
  const mounts = table
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , , , path]) => path === '/' || `${networks}/`.startsWith(`${path}/`))
  // The last one covers the others.
  const nearest = mounts.toSorted(([, , , , one], [, , , , other]) => one!.length - other!.length).at(-1)
  return (
    nearest !== undefined && !optionalFields(nearest).some((field) => /^(?:shared|master):\d+$/.test(field))
  )
}

/** The fields from the seventh to the hyphen. */
const optionalFields = (fields: readonly string[]) => fields.slice(6, fields.indexOf('-', 6))

/** @returns undefined where all is well, and where the table cannot be read */
export function privateMountsHint(): string | undefined {
  try {
    if (!hidesNetworks(readFileSync('/proc/self/mountinfo', 'utf8'))) return undefined
  } catch {
    return undefined
  }
  return 'Podman leaves the networks of containers behind, so that they do not start again: the mounts of this device are private. Run "mount --make-rshared /" at each start of the device, before Podman starts; systemd does.'
}
