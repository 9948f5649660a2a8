/** What a device states about itself for its owner to see, beside what its registration needs. It can be turned off. */
import * as z from 'zod'
import { isoTime } from '../methods/values.ts'

/**
 * Text of a device, which may be hostile: without control characters, and without those that change how the text around them is
 * shown, such as the direction of writing.
 */
const text = (maxCharacters: number) =>
  z
    .string()
    .min(1)
    .max(maxCharacters)
    .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u)

const bytes = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const count = z.number().int().min(0).max(1_000_000_000)
const usage = z.object({ usedBytes: bytes, totalBytes: bytes })

/** Most characters of the vitals as JSON: they travel in the header of a request. */
export const maxVitalsCharacters = 3000

/** Unknown members are dropped: a newer runtime may state more. It states no environment, no path and no line of a log. */
export const deviceVitals = z.object({
  /** Name and version of the operating system. */
  system: text(80).optional(),
  arch: text(16),
  /** IP addresses and URLs under which others reach the device. */
  addresses: z.array(text(80)).max(8),
  /** Since the device started. */
  uptimeSeconds: count,
  cores: count,
  /** Average number of programs that wanted a core in the last minute. */
  load: z.number().min(0).max(1_000_000),
  memory: usage,
  /** The file system of the runtime's state; null if it cannot be read. */
  disk: usage.nullable(),
  clock: z.enum(['trusted', 'held', 'unknown']),
  /** Since the list of revoked tokens was last found to be the newest; null: not since the runtime started. */
  revocationsAgeSeconds: count.nullable(),
  /** The engines that work, with their layers of isolation. Absent as long as the runtime has not looked. */
  engines: z
    .array(z.object({ kind: text(16), version: text(32).optional(), isolation: z.array(text(32)).max(8) }))
    .max(4)
    .optional(),
  notices: z.array(z.object({ reason: text(64), errorId: text(64), time: isoTime })).max(8),
  /** Services that were restarted, or did not start. */
  services: z.array(z.object({ id: text(128), restarts: count, lastEnd: text(32).optional() })).max(20),
})

export type DeviceVitals = z.infer<typeof deviceVitals>

/**
 * The vitals in a claim of a device.
 *
 * @returns null if the device withdraws its vitals; undefined if the claim is absent or ill formed
 */
export function readVitals(claim: unknown): DeviceVitals | null | undefined {
  if (claim === null || claim === undefined) return claim
  if (JSON.stringify(claim).length > maxVitalsCharacters) return undefined
  return deviceVitals.safeParse(claim).data
}
