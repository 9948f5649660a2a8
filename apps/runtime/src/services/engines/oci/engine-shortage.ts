/** Finds out from an engine's refusal whether the engine and its device lack something, or the container is at fault. */

/** A full disk, or anything else that passes: memory, descriptors, processes, time. */
export type Shortage = 'disk' | 'other'

/** Too many requests, service unavailable, gateway timeout. */
const passingStatuses = new Set([429, 503, 504])

/**
 * Engines nest messages ("outer: inner: no space left on device"), so the words of the system end a line, or a member of JSON.
 * In the middle of a line they may be a name in the image: `exec: "/x: no space left on device": not found`.
 * A read-only file system is not among them: the root of each container is one.
 */
const diskFull = /: (?:no space left on device|disk quota exceeded)(?:: unknown)?["'.)}\]]{0,4}(?:\\|$)/im
const scarce =
  /: (?:too many open files|too many open files in system|cannot allocate memory|resource temporarily unavailable|no buffer space available|input\/output error|context deadline exceeded|i\/o timeout|connection timed out|operation timed out)(?:: unknown)?["'.)}\]]{0,4}(?:\\|$)/im

/**
 * A status of 500 alone means nothing: Podman gives it for a program that is not in the image, too.
 *
 * @param status HTTP status of the refusal
 * @param text the whole refusal
 */
export function shortageIn(status: number, text: string): Shortage | undefined {
  if (passingStatuses.has(status)) return 'other'
  if (status < 500) return undefined
  const line = `: ${text}`
  if (diskFull.test(line)) return 'disk'
  return scarce.test(line) ? 'other' : undefined
}

/**
 * Whether a refusal means that something was removed while the engine read all of its kind: an interface of the device, for a free subnet; a
 * container or a volume, for the sizes of volumes.
 */
export const hasRaced = (status: number, text: string): boolean =>
  status >= 500 &&
  /route ip\+net: no such network interface|: no such (?:container|volume)$/.test(text.trim())
