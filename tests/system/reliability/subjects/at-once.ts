import type { Fetch } from '@selvedge/client'

/** A client that sends a refused request again does so at once: how often it is sent counts here, not how long it waits. */
export const atOnce =
  (fetch: Fetch): Fetch =>
  async (url, init) => {
    const response = await fetch(url, init)
    const get = (name: string) => {
      const value = response.headers.get(name)
      return value !== null && name.toLowerCase() === 'retry-after' ? '0' : value
    }
    return { status: response.status, headers: { get }, text: () => response.text() }
  }
