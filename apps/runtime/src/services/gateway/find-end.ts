import { BrokenResponse } from './broken-response.ts'

/**
 * Finds the end of a part of a response. The outcome does not depend on how the network splits the bytes.
 *
 * @param maxBytes that may come before `mark`
 * @param tooLong the message of the exception
 * @returns where `mark` begins; -1 if it has not arrived yet
 * @throws BrokenResponse if `mark` begins later than `maxBytes`
 */
export function findEnd(bytes: Buffer, mark: Buffer, maxBytes: number, tooLong: string): number {
  const at = bytes.indexOf(mark)
  if (at < 0 ? bytes.length >= maxBytes + mark.length : at > maxBytes) throw new BrokenResponse(tooLong)
  return at
}
