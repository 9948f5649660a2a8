/** A location as the cluster keeps it: 44 bytes and the name. The script of put.ts reads the same layout. */
import { fixSources, precisions, type Sharing } from '@selvedge/protocol'
import { type KnownLocation, type Location, noAccuracy, scale, toInteger } from '../location-store.ts'

const suspectBit = 0x80

/** Time of the fix, time of the last report, location, speed, bearing, accuracy, arrival; source; precisions; name. */
export function writeRecord(location: Location): Buffer {
  const name = Buffer.from(location.nodeName)
  const record = Buffer.allocUnsafe(44 + name.length)
  record.writeDoubleBE(location.fixedAt, 0)
  record.writeDoubleBE(location.heardAt, 8)
  record.writeInt32BE(toInteger.degrees(location.longitude), 16)
  record.writeInt32BE(toInteger.degrees(location.latitude), 20)
  record.writeUInt32BE(toInteger.speed(location.speed), 24)
  record.writeUInt16BE(toInteger.bearing(location.bearing), 28)
  record.writeUInt32BE(toInteger.accuracy(location.accuracy), 30)
  record.writeDoubleBE(location.receivedAt, 34)
  record[42] = fixSources.indexOf(location.source)
  const { account, others } = location.sharing
  record[43] = precisions.indexOf(account) | (precisions.indexOf(others) << 2)
  name.copy(record, 44)
  return record
}

export function readRecord(accountId: string, nodeId: string, record: Buffer): KnownLocation {
  const accuracy = record.readUInt32BE(30)
  const shared = record[43]!
  const sharing: Sharing = { account: precisions[shared & 3]!, others: precisions[(shared >> 2) & 3]! }
  return {
    nodeId,
    accountId,
    nodeName: record.toString('utf8', 44),
    fixedAt: record.readDoubleBE(0),
    heardAt: record.readDoubleBE(8),
    longitude: record.readInt32BE(16) / scale.degrees,
    latitude: record.readInt32BE(20) / scale.degrees,
    speed: record.readUInt32BE(24) / scale.speed,
    bearing: record.readUInt16BE(28) / scale.bearing,
    ...(accuracy !== noAccuracy && { accuracy: accuracy / scale.accuracy }),
    receivedAt: record.readDoubleBE(34),
    source: fixSources[record[42]! & 3]!,
    suspect: (record[42]! & suspectBit) !== 0,
    sharing,
  }
}
