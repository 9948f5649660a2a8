import { File } from '@bjorn3/browser_wasi_shim'
import type { Storage } from './storage.ts'

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/**
 * The items of the storage as files. What is written back is what a request changed, and nothing else: a file that it left as it
 * was may have been changed by another request meanwhile. Where both changed the same file, the one that ended last wins.
 */
export function fileStorage(storage: Storage): { files: Map<string, File>; writeBack(): void } {
  const files = new Map<string, File>()
  const before = new Map<string, string>()
  storage.eachItem((key, value) => {
    files.set(key, new File(encoder.encode(value)))
    before.set(key, value)
  })
  return {
    files,
    writeBack() {
      for (const name of before.keys()) if (!files.has(name)) storage.removeItem(name)
      for (const [name, file] of files) {
        if (!(file instanceof File)) continue
        const value = decoder.decode(file.data)
        if (value !== before.get(name)) storage.setItem(name, value)
      }
    },
  }
}
