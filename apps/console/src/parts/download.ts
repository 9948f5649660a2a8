import { signedFetch } from '../session/request.ts'

interface Refused {
  readonly error_description?: unknown
}

/**
 * Saves what a path of the console answers as a file. Not a link, because a browser does not sign requests that it makes by itself.
 *
 * @param what the thing, for an error: "the audit log"
 */
export async function download(path: string, fileName: string, what: string): Promise<void> {
  const response = await signedFetch(path)
  if (!response.ok) {
    const { error_description: why } = (await response.json().catch(() => ({}))) as Refused
    throw new Error(
      `Can’t export ${what}: ${typeof why === 'string' ? why : `HTTP ${response.status}`}. Try again.`,
    )
  }
  const url = URL.createObjectURL(await response.blob())
  Object.assign(document.createElement('a'), { href: url, download: fileName }).click()
  URL.revokeObjectURL(url)
}
