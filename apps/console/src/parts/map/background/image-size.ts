/** A few bytes of an image can stand for gigabytes of pixels, so its size is read before it is decoded. */

/** Pixels of a side: a sheet of symbols for a dense screen is the largest image that a map needs. */
const maxSidePx = 4096

interface Size {
  readonly width: number
  readonly height: number
}

/** Whether bytes begin as a PNG, WebP or JPEG of a size that a map needs. */
export function checkImage(bytes: Uint8Array<ArrayBuffer>): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let size: Size | undefined
  try {
    size = pngSize(view) ?? webpSize(view) ?? jpegSize(view)
  } catch (cause) {
    // It ends before its size.
    if (!(cause instanceof RangeError)) throw cause
  }
  return size !== undefined && isSmall(size.width) && isSmall(size.height)
}

const isSmall = (side: number): boolean => side > 0 && side <= maxSidePx

const textAt = (view: DataView, at: number): string =>
  String.fromCharCode(...[0, 1, 2, 3].map((each) => view.getUint8(at + each)))

/** PNG 3rd edition § 5.2, 11.2.1. */
function pngSize(view: DataView): Size | undefined {
  if (view.getUint32(0) !== 0x89_50_4e_47 || textAt(view, 12) !== 'IHDR') return undefined
  return { width: view.getUint32(16), height: view.getUint32(20) }
}

/** RFC 9649 § 2.5 to 2.7. */
function webpSize(view: DataView): Size | undefined {
  if (textAt(view, 0) !== 'RIFF' || textAt(view, 8) !== 'WEBP') return undefined
  const uint24 = (at: number) => view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
  switch (textAt(view, 12)) {
    case 'VP8 ':
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
    case 'VP8L': {
      const bits = view.getUint32(21, true)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: uint24(24) + 1, height: uint24(27) + 1 }
    default:
      return undefined
  }
}

/** ITU-T T.81 B.2: the size is in the first frame header, after segments that state their length. */
function jpegSize(view: DataView): Size | undefined {
  if (view.getUint16(0) !== 0xff_d8) return undefined
  for (let at = 2; ; ) {
    const marker = view.getUint16(at)
    const isFrame = marker >= 0xff_c0 && marker <= 0xff_cf && ![0xff_c4, 0xff_c8, 0xff_cc].includes(marker)
    if (isFrame) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) }
    const length = view.getUint16(at + 2)
    if (marker < 0xff_c0 || length < 2) return undefined
    at += 2 + length
  }
}
