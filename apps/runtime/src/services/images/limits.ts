/** Limits of images that hold for the whole device, with the share of each project; docs/services.md lists them. */
import { maxPulls } from '@selvedge/protocol'
import type { Pace } from './paced.ts'

export const shares = {
  /** Archives that arrive or are read: each may need 32 MiB of memory, and its layers are on the disk. */
  archives: { what: 'archives', kind: 'archives', onDevice: 16, ofOwner: 8 },
  /** Uploads that arrive. */
  uploads: { what: 'uploads', kind: 'uploads', onDevice: 16, ofOwner: 8 },
  /** Downloads from registries: each one occupies a connection, however slow its registry is. */
  pulls: { what: 'downloads', kind: 'pulls', onDevice: 64, ofOwner: maxPulls },
  /** Removals that wait for their turn. */
  removals: { what: 'removals of images', onDevice: 100, ofOwner: 50 },
} as const

/** An archive that a client sends: 8 KiB/s. The slowest mobile networks are faster, and it arrives within a day. */
export const uploadPace: Pace = { windowMs: 60_000, minBytes: 8 * 1024 * 60, totalMs: 86_400_000 }

/** Milliseconds for a pull with all its blobs, unless `images.pullTimeout` is another; the rate of each answer is limited in `registry/http-get.ts`. */
export const pullMs = 86_400_000

/** A length of time for people. */
export const lengthOf = (ms: number): string =>
  ms % 3_600_000 === 0 ? `${ms / 3_600_000} hours` : `${Math.ceil(ms / 1000)} s`

/** Milliseconds for the rest of a form after its archive. */
export const formRestMs = 60_000

/** Images of a project, of an account, and of a device with those that former accounts left. */
export const maxImages = { ofProject: 200, ofAccount: 400, onDevice: 1000 } as const

/** What others deployed or used within the last day makes no room for a project, up to a quarter of the disk for each of them. */
export const protection = { ms: 86_400_000, partOfDisk: 1 / 4 } as const
