/**
 * Requests to the servers of a background, which may be hostile: only origins of the setting, no cookies, no redirects, and an answer
 * that is small and comes in time. The browser's policy for the page refuses other origins as well.
 */
import { checkImage } from './image-size.ts'

export type Resource = 'style' | 'tile' | 'image' | 'other'

/** Bytes of an answer, unpacked. */
const maxBytes: Readonly<Record<Resource, number>> = {
  style: 1_000_000,
  tile: 2_000_000,
  image: 2_000_000,
  other: 4_000_000,
}
const timeoutMs = 15_000

/** What went wrong, in words for a person; nothing of it comes from the server. */
export class BackgroundError extends Error {
  override readonly name = 'BackgroundError'
}

/**
 * @param origins that may be asked
 * @returns the bytes; undefined for a tile that the server does not have
 * @throws BackgroundError
 */
export async function fetchBounded(
  url: URL,
  resource: Resource,
  origins: readonly string[],
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const host = url.host.slice(0, 100)
  if (!origins.includes(url.origin)) throw new BackgroundError(`${host} is not in console.mapHosts`)
  const signals = [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]
  const response = await fetch(url, {
    credentials: 'omit',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
    signal: AbortSignal.any(signals),
  }).catch((cause) => {
    if (signal?.aborted) throw cause
    throw new BackgroundError(`${host} does not answer`)
  })
  const isTile = resource === 'tile' || resource === 'image'
  if (isTile && (response.status === 404 || response.status === 204)) {
    await response.body?.cancel()
    return undefined
  }
  if (!response.ok) {
    await response.body?.cancel()
    throw new BackgroundError(`${host} answers with status ${response.status}`)
  }
  const bytes = await readBounded(response, maxBytes[resource]).catch((cause) => {
    if (signal?.aborted || cause instanceof BackgroundError) throw cause
    throw new BackgroundError(`${host} stopped in the middle of an answer`)
  })
  if (!bytes) throw new BackgroundError(`${host} sends more than ${maxBytes[resource] / 1_000_000} MB`)
  if (resource === 'image' && bytes.length > 0 && !checkImage(bytes))
    throw new BackgroundError(`${host} sends something else than small images`)
  return bytes
}

/** @returns undefined if there is more; the rest is not read */
async function readBounded(response: Response, most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Uint8Array[] = []
  let size = 0
  if (response.body) {
    const reader = response.body.getReader()
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.length
      if (size > most) {
        await reader.cancel()
        return undefined
      }
      parts.push(next.value)
    }
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
