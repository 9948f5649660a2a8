/** How much coarser reports of the location are on a link that costs by its bytes, or of which the budget is nearly used. */
import type { SendingLimits } from '@selvedge/geo'

/** @param usual limits of the settings, in metres and milliseconds */
export const limitsFor = (link: { isScarce(): boolean }, usual: SendingLimits): SendingLimits =>
  link.isScarce() ? { maxError: usual.maxError * 4, maxIntervalMs: usual.maxIntervalMs * 5 } : usual
