/**
 * Gets a small JSON document, such as another service's key set, within three seconds and without following redirects.
 *
 * @throws where there is no good answer
 */
export async function getJson(url: string): Promise<unknown> {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(3000) })
  if (!response.ok) throw new Error(`${url} answered HTTP ${response.status}`)
  return response.json()
}
