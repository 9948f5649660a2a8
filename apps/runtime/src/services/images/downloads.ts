/** How images arrived from their registries since the runtime started, for the history of containers. */

/** Images that are listed: the newest ones. */
const maxListed = 200

export interface Download {
  /** Requests that failed and were repeated. */
  readonly interruptions: number
  /** Milliseconds from the first request to the stored image. */
  readonly ms: number
}

export interface Downloads {
  /** @param key of the image */
  note(key: string, download: Download): void
  /** For people; "" without interruptions, and for an image of which nothing is known. */
  describe(key: string): string
}

export function createDownloads(): Downloads {
  const known = new Map<string, Download>()
  return {
    note(key, download) {
      known.delete(key)
      known.set(key, download)
      if (known.size > maxListed) known.delete(known.keys().next().value!)
    },
    describe(key) {
      const { interruptions = 0, ms = 0 } = known.get(key) ?? {}
      if (interruptions === 0) return ''
      const times = interruptions === 1 ? 'once' : `${interruptions} times`
      return `its download was interrupted ${times}, and needed ${Math.ceil(ms / 1000)} s`
    },
  }
}
