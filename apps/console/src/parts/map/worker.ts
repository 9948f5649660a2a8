/**
 * The worker of the map, a file of the pages. The policy of the pages requires Trusted Types, so a script needs a policy that
 * names it: the default policy allows this one URL, and nothing else of any kind.
 */
import { setWorkerUrl } from 'maplibre-gl'
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?url'

interface TrustedTypes {
  readonly defaultPolicy: unknown
  createPolicy(name: 'default', rules: { createScriptURL(url: string): string | null }): unknown
}

/** Once for each page: a policy can't be made twice. */
export function allowWorker(): void {
  setWorkerUrl(workerUrl)
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  if (trustedTypes && trustedTypes.defaultPolicy === null)
    trustedTypes.createPolicy('default', { createScriptURL: (url) => (url === workerUrl ? url : null) })
}
