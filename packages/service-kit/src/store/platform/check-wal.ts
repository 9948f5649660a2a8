/**
 * Finds damage in SQLite's write-ahead log. SQLite reads the log up to the first frame with a wrong checksum and treats the rest
 * as a commit that a power cut interrupted; a changed bit would so take back every commit behind it without a word.
 *
 * Each commit is synced before the next one is written. So a commit with a frame behind it was acknowledged: where such a commit
 * lies behind a wrong checksum, the log is damaged. https://www.sqlite.org/fileformat2.html#walformat
 *
 * The index of the log, which a killed process leaves behind, counts the frames up to the last commit. It is changed after the
 * sync of
 * that commit: where the log has fewer whole frames, its end is damaged or cut off. After a power cut the index may be older, and
 * then it counts less. https://www.sqlite.org/walformat.html#walidxfmt
 */
import { readFileSync } from 'node:fs'
import { endianness } from 'node:os'

const headerBytes = 32
const frameHeaderBytes = 24
/** Of the index: two copies of a header, and in it the number of frames and the salts of the log. */
const index = { headerBytes: 48, isInitializedAt: 12, framesAt: 16, saltsAt: 32, sumAt: 40 }
/** Bytes of a page, where the header of the log cannot be read. */
const defaultPageBytes = 4096

type Sum = readonly [number, number]

/**
 * @returns whether commits that were acknowledged cannot be read any more; false where there is no log
 * @throws NodeJS.ErrnoException where there is one that cannot be read
 */
export function hasLostCommits(walPath: string): boolean {
  // Before the log: meanwhile another connection may commit.
  const indexed = readIndex(walPath.replace(/-wal$/, '-shm'))
  const log = readIfThere(walPath)
  if (!log || log.length < headerBytes + frameHeaderBytes) return false
  // The byte order is in the magic number, which may be damaged: with the wrong one no frame follows another.
  const readings = [true, false].map((isBig) => readLog(log, isBig))
  const isCutOff =
    indexed !== undefined &&
    readings.every(({ salts, whole }) => salts.equals(indexed.salts) && whole < indexed.frames)
  return isCutOff || readings.some(({ isBroken }) => isBroken)
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cause
  }
}

/** Frames and salts of the index; undefined where it is not there, or was being changed. */
function readIndex(path: string): { frames: number; salts: Buffer } | undefined {
  const file = readIfThere(path)
  if (!file || file.length < 2 * index.headerBytes) return undefined
  const header = file.subarray(0, index.headerBytes)
  const isLittle = endianness() === 'LE'
  const sum = sumOf(header.subarray(0, index.sumAt), !isLittle, [0, 0])
  const read = (at: number) => (isLittle ? header.readUInt32LE(at) : header.readUInt32BE(at))
  const isWhole = isEqual(sum, [read(index.sumAt), read(index.sumAt + 4)])
  if (!isWhole || header[index.isInitializedAt] !== 1) return undefined
  if (!header.equals(file.subarray(index.headerBytes, 2 * index.headerBytes))) return undefined
  return { frames: read(index.framesAt), salts: header.subarray(index.saltsAt, index.saltsAt + 8) }
}

interface LogReading {
  /** Of the frames that are in use. */
  readonly salts: Buffer
  /** Frames that SQLite reads. */
  readonly whole: number
  /** Whether a commit lies behind what SQLite reads. */
  readonly isBroken: boolean
}

function readLog(log: Buffer, isBig: boolean): LogReading {
  const isHeaderWhole = isEqual(sumOf(log.subarray(0, 24), isBig, [0, 0]), readSum(log, 24))
  const frameBytes = frameHeaderBytes + (isHeaderWhole ? log.readUInt32BE(8) : defaultPageBytes)
  const frames = Math.floor((log.length - headerBytes) / frameBytes)
  const frameAt = (at: number) =>
    log.subarray(headerBytes + at * frameBytes, headerBytes + (at + 1) * frameBytes)
  // Frames of an earlier use of the file, which stay behind the present ones, have other salts.
  const salts = isHeaderWhole ? log.subarray(16, 24) : log.subarray(headerBytes + 8, headerBytes + 16)
  const isPresent = (frame: Buffer) => frame.subarray(8, 16).equals(salts)
  let sum = readSum(log, 24)
  let hasWrong = !isHeaderWhole
  let wasCommit = false
  let whole = 0
  for (let at = 0; at < frames; at++) {
    const frame = frameAt(at)
    const head = sumOf(frame.subarray(0, 8), isBig, sum)
    sum = readSum(frame, 16)
    const follows = isEqual(sumOf(frame.subarray(frameHeaderBytes), isBig, head), sum)
    if (follows && isPresent(frame) && wasCommit && hasWrong) return { salts, whole, isBroken: true }
    hasWrong ||= !follows || !isPresent(frame)
    if (!hasWrong) whole++
    wasCommit = isPresent(frame) && frame.readUInt32BE(4) !== 0
  }
  return { salts, whole, isBroken: false }
}

/**
 * SQLite's checksum: a Fibonacci-weighted sum of pairs of 32-bit words.
 * @param bytes begin at a multiple of four of their memory
 */
function sumOf(bytes: Buffer, isBig: boolean, [first, second]: Sum): Sum {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  const isSwapped = isBig !== (endianness() === 'BE')
  let one = first | 0
  let two = second | 0
  for (let at = 0; at < words.length; at += 2) {
    const [even, odd] = [words[at]!, words[at + 1]!]
    one = (one + (isSwapped ? swap(even) : even) + two) | 0
    two = (two + (isSwapped ? swap(odd) : odd) + one) | 0
  }
  return [one >>> 0, two >>> 0]
}

const swap = (word: number): number =>
  (word >>> 24) | ((word >>> 8) & 0xff00) | ((word << 8) & 0xff0000) | (word << 24)

const readSum = (bytes: Buffer, at: number): Sum => [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)]
const isEqual = (one: Sum, other: Sum): boolean => one[0] === other[0] && one[1] === other[1]
