import { File } from '@bjorn3/browser_wasi_shim'
import type { FunctionStorage } from '@selvedge/client/function'

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/**
 * Fills a folder with the items of the storage.
 *
 * @param files of the folder, by name
 * @returns writes back what was changed since, and nothing else
 */
export function openFiles(storage: FunctionStorage, files: Map<string, File>): () => void {
  const before = new Map<string, string>()
  storage.eachItem((key, value) => {
    files.set(key, new File(encoder.encode(value)))
    before.set(key, value)
  })
  return () => {
    for (const name of before.keys()) if (!files.has(name)) storage.removeItem(name)
    for (const [name, file] of files) {
      if (!(file instanceof File)) continue
      const value = decoder.decode(file.data)
      if (value !== before.get(name)) storage.setItem(name, value)
    }
  }
}
