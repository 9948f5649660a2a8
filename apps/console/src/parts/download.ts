import { Explained } from '../failures.ts'
import { signedFetch } from '../session/request.ts'

const tooMany = 'other exports are under way. Try again in a minute.'
const failed = 'the server didn’t send all of it. Try again.'

/**
 * Saves what a path of the console answers as a file. Not a link, because a browser does not sign requests that it makes by itself.
 *
 * @param what the thing, for an error: "the audit log"
 */
export async function download(path: string, fileName: string, what: string): Promise<void> {
  const response = await signedFetch(path).catch(() => undefined)
  const content = response?.ok ? await response.blob().catch(() => undefined) : undefined
  if (!content) throw new Explained(`Can’t export ${what}: ${response?.status === 429 ? tooMany : failed}`)
  const url = URL.createObjectURL(content)
  Object.assign(document.createElement('a'), { href: url, download: fileName }).click()
  URL.revokeObjectURL(url)
}
