import { RpcError } from '@selvedge/protocol'
import { isShortage } from '../engines/shortage.ts'

/** Reasons of failures that are the container's own: its image, its program, its health. */
const ownReasons = new Set<string>([
  'container_failed',
  'digest_mismatch',
  'invalid_image',
  'invalid_params',
  'signature_invalid',
  'unsupported_image',
])

/**
 * Whether a start failed for a reason of the device, which passes, and not of the container. Such a start is tried again, and
 * never counts towards giving the container up.
 */
export function isOfDevice(cause: unknown): boolean {
  for (let each = cause, depth = 0; each instanceof Error && depth < 8; each = each.cause, depth++) {
    if (isShortage((each as NodeJS.ErrnoException).code)) return true
  }
  return !(cause instanceof RpcError && ownReasons.has(cause.reason))
}
