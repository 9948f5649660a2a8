import type { GetFetch } from '../network/outbound-fetch.ts'

/** Bytes of a document; a key set has one or two thousand. */
const maxBytes = 1024 * 1024

/**
 * @param fetch through the proxy and with the authorities of the settings
 * @returns a function that gets a small JSON document, such as another service's key set, within three seconds and without following
 * redirects
 * @throws (the function) when the answer is not 2xx, not JSON, larger than 1 MiB, or late
 */
export const createGetJson =
  (fetch: GetFetch) =>
  async (url: string): Promise<unknown> => {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(3000) })
    if (!response.ok) {
      // Left unread, the body would hold its connection.
      await response.body?.cancel()
      throw new Error(`${url} answered HTTP ${response.status}`)
    }
    return readJson(response)
  }

/**
 * The JSON of a small answer.
 *
 * @throws when it is not JSON, or larger than 1 MiB; the rest is not read
 */
export async function readJson({ body, url }: Response): Promise<unknown> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body ?? []) {
    size += part.length
    if (size > maxBytes) throw new Error(`${url} answered with more than ${maxBytes} bytes`)
    parts.push(part)
  }
  return JSON.parse(Buffer.concat(parts).toString())
}
