/**
 * Limits what containers write to the disk of the engine: their root file systems, and the volumes that their images declare. Few
 * storage drivers can refuse to write more (the overlay driver on XFS with project quotas), so the sizes are measured by the engine,
 * and a container above its limit is stopped. Measuring reads whole folders. It happens when the disk lost space since the last time,
 * which is cheap to find out; and every ten seconds, since others may have freed as much.
 */
import { statfs } from 'node:fs/promises'
import { safely } from '@selvedge/service-kit/safely'
import * as answers from './answers.ts'
import { type EngineApi, EngineError } from './engine-api.ts'

/** Milliseconds between two checks of the free space of the disk. */
const checkMs = 1000
/** Milliseconds after which sizes are measured anyway: with the disk in sight, and without. */
const pauseMs = { seen: 10_000, unseen: 5000 }
/** Bytes that the disk may lose until sizes are measured, as a share of the lowest limit and at most. */
const loss = { share: 0.25, max: 16 * 1024 * 1024 }
/** Measuring gets one of so many milliseconds. */
const dutyFactor = 20

export interface Watched {
  readonly api: EngineApi
  /** Of the container. */
  readonly name: string
  /** Names of the volumes that its image declares. */
  readonly volumes: readonly string[]
  readonly maxBytes: number
  /** Called once, when it has more. */
  readonly onFull: (bytes: number) => void
}

export interface DiskWatch {
  /** @returns what to call when the container has exited */
  watch(container: Watched): () => void
  close(): void
}

export interface DiskWatchParts {
  /** Folder of the engine's files; undefined if it is not known. */
  readonly folder: () => string | undefined
  /** Monotonic milliseconds. */
  readonly now?: () => number
  readonly checkMs?: number
}

const freeBytes = async (folder: string | undefined): Promise<number | undefined> => {
  if (folder === undefined) return undefined
  const found = await statfs(folder).catch(() => undefined)
  return found && found.bavail * found.bsize
}

/** Bytes of each volume of the engine. */
async function volumeSizes(api: EngineApi): Promise<ReadonlyMap<string, number>> {
  const { Volumes } = await api.read('/system/df?type=volume', answers.diskUsage)
  return new Map((Volumes ?? []).map(({ Name, UsageData }) => [Name, UsageData?.Size ?? 0]))
}

/** @returns undefined if a container was removed meanwhile: the engine reads all of them one after the other */
const ignoreRace = (cause: unknown): undefined => {
  if (cause instanceof EngineError && cause.hasRaced) return undefined
  throw cause
}

/**
 * Measures containers of one engine.
 *
 * @returns their bytes, in their order; undefined for one that is not there any more. Without the volumes, where a container was removed meanwhile
 */
async function measure(all: readonly Watched[]): Promise<(number | undefined)[]> {
  const withVolumes = all.find(({ volumes }) => volumes.length > 0)
  const sizes = withVolumes && (await volumeSizes(withVolumes.api).catch(ignoreRace))
  const bytes: (number | undefined)[] = []
  for (const { api, name, volumes } of all) {
    const path = `/containers/${name}/json?size=true`
    const found = await api.read(path, answers.sized).catch(() => undefined)
    const inVolumes = volumes.reduce((sum, each) => sum + (sizes?.get(each) ?? 0), 0)
    bytes.push(found && (found.SizeRw ?? 0) + inVolumes)
  }
  return bytes
}

export function createDiskWatch(parts: DiskWatchParts): DiskWatch {
  const { folder, now = () => performance.now() } = parts
  const watched = new Set<Watched>()
  let measuredAt = Number.NEGATIVE_INFINITY
  let restUntil = 0
  let freeThen: number | undefined
  let isMeasuring = false

  function isDue(free: number | undefined): boolean {
    const pause = free === undefined ? pauseMs.unseen : pauseMs.seen
    if (now() - measuredAt >= pause) return true
    if (free === undefined || freeThen === undefined) return false
    const lowest = Math.min(...[...watched].map(({ maxBytes }) => maxBytes))
    return freeThen - free >= Math.min(loss.max, lowest * loss.share)
  }

  async function check(): Promise<void> {
    if (watched.size === 0 || isMeasuring || now() < restUntil) return
    isMeasuring = true
    try {
      const free = await freeBytes(folder())
      if (!isDue(free)) return
      measuredAt = now()
      freeThen = free
      const all = [...watched]
      const bytes = await measure(all)
      restUntil = now() + (now() - measuredAt) * dutyFactor
      for (const [at, each] of all.entries()) {
        const found = bytes[at]
        if (found === undefined || found <= each.maxBytes || !watched.delete(each)) continue
        each.onFull(found)
      }
    } finally {
      isMeasuring = false
    }
  }
  const timer = setInterval(safely('oci.disk', check), parts.checkMs ?? checkMs).unref()

  return {
    watch(container) {
      watched.add(container)
      return () => void watched.delete(container)
    },
    close: () => clearInterval(timer),
  }
}
