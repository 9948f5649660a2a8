import { setBytes } from '../frames.ts'

/** All parts as one. */
export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let length = 0
  for (let at = 0; at < parts.length; at++) length += parts[at]!.length
  const all = new Uint8Array(length)
  for (let at = 0, offset = 0; at < parts.length; at++) {
    setBytes(all, parts[at]!, offset)
    offset += parts[at]!.length
  }
  return all
}
