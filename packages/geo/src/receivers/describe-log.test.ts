import { expect, it } from 'vitest'
import { describeLog } from './describe-log.ts'

const ubx = Buffer.from([0x00, 0xb5, 0x62, 0x01, 0x07, 0x5c, 0x00])
const sirf = Buffer.from([0xa0, 0xa2, 0x00, 0x29, 0x02])

it.each([
  ['nothing', '', 'it is empty'],
  ['UBX', ubx, 'it is probably UBX'],
  ['SiRF', sirf, 'it is probably SiRF binary'],
  ['sentences without a fix', '$GPRMC,,V,,,,,,,,,,N*53\r\n', 'its NMEA sentences have no position'],
  [
    'UBX between sentences without a fix',
    Buffer.concat([ubx, Buffer.from('$GNGGA,,,*00')]),
    'its NMEA sentences',
  ],
  ['sentences of satellites', '$GPGSV,1,1,00*79\r\n', 'not of a kind with a position'],
  ['a picture', '\x89PNG\r\n', 'not the log of a receiver'],
  ['prose', 'Dear $SIR, hello', 'not the log of a receiver'],
])('of %s it gives the reason for the missing position', (_, content, expected) => {
  expect(describeLog(Buffer.from(content as string))).toContain(expected)
})
