/**
 * Finds damage in SQLite's write-ahead log. SQLite reads the log up to the first frame whose checksum is wrong and takes the rest
 * for a commit that a power cut interrupted; a changed bit would so take back every commit behind it without a word.
 *
 * Each commit is synced before the next one is written. So a commit with a frame behind it was acknowledged: where such a commit
 * lies behind a wrong checksum, the log is damaged. https://www.sqlite.org/fileformat2.html#walformat
 */
import { readFileSync } from 'node:fs'

const headerBytes = 32
const frameHeaderBytes = 24
/** Bytes of a page, where the header of the log cannot be read. */
const defaultPageBytes = 4096

type Sum = readonly [number, number]

/**
 * @returns whether commits that were acknowledged cannot be read any more; false where there is no log
 * @throws NodeJS.ErrnoException where there is one that cannot be read
 */
export function hasLostCommits(walPath: string): boolean {
  let log: Buffer
  try {
    log = readFileSync(walPath)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw cause
  }
  if (log.length < headerBytes + frameHeaderBytes) return false
  // The byte order is in the magic number, which may be damaged: with the wrong one no frame follows another.
  return [true, false].some((isBig) => isBroken(log, isBig))
}

function isBroken(log: Buffer, isBig: boolean): boolean {
  const isHeaderWhole = isEqual(sumOf(log.subarray(0, 24), isBig, [0, 0]), readSum(log, 24))
  const frameBytes = frameHeaderBytes + (isHeaderWhole ? log.readUInt32BE(8) : defaultPageBytes)
  const frames = Math.floor((log.length - headerBytes) / frameBytes)
  const frameAt = (index: number) =>
    log.subarray(headerBytes + index * frameBytes, headerBytes + (index + 1) * frameBytes)
  // Frames of an earlier use of the file, which stay behind the present ones, have other salts.
  const salts = isHeaderWhole ? log.subarray(16, 24) : log.subarray(headerBytes + 8, headerBytes + 16)
  const isPresent = (frame: Buffer) => frame.subarray(8, 16).equals(salts)
  let sum = readSum(log, 24)
  let hasWrong = !isHeaderWhole
  let wasCommit = false
  for (let index = 0; index < frames; index++) {
    const frame = frameAt(index)
    const head = sumOf(frame.subarray(0, 8), isBig, sum)
    sum = readSum(frame, 16)
    const follows = isEqual(sumOf(frame.subarray(frameHeaderBytes), isBig, head), sum)
    if (follows && isPresent(frame) && wasCommit && hasWrong) return true
    hasWrong ||= !follows || !isPresent(frame)
    wasCommit = isPresent(frame) && frame.readUInt32BE(4) !== 0
  }
  return false
}

/** SQLite's checksum: a Fibonacci-weighted sum of pairs of 32-bit words. */
function sumOf(bytes: Buffer, isBig: boolean, [first, second]: Sum): Sum {
  let one = first
  let two = second
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + (isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + two) >>> 0
    two = (two + (isBig ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + one) >>> 0
  }
  return [one, two]
}

const readSum = (bytes: Buffer, at: number): Sum => [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)]
const isEqual = (one: Sum, other: Sum): boolean => one[0] === other[0] && one[1] === other[1]
