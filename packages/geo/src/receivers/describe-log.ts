/** Why a file has no position, for a person who gave it as the log of a receiver. */

/** Bytes from the beginning of a file that are enough to tell. */
export const describedBytes = 65_536

const kinds: readonly { readonly magic: readonly number[]; readonly name: string }[] = [
  { magic: [0xb5, 0x62], name: 'UBX, the binary protocol of u-blox receivers' },
  { magic: [0xa0, 0xa2], name: 'SiRF binary' },
]

/** @param bytes the beginning of the file, at most {@link describedBytes} */
export function describeLog(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('latin1')
  if (text === '') return 'it is empty'
  if (/\$[A-Z]{2}(?:RMC|GGA|GNS|GLL),/.test(text))
    return 'its NMEA sentences have no position with a right checksum'
  if (/\$[A-Z]{5},/.test(text))
    return 'its NMEA sentences are not of a kind with a position (RMC, GGA, GNS, GLL)'
  const found = kinds.find(({ magic }) => text.includes(String.fromCharCode(...magic)))
  if (found) return `it is probably ${found.name}; NMEA 0183 is text`
  return 'it has no NMEA sentence: it is not the log of a receiver'
}
