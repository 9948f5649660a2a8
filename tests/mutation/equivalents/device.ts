/** Of what the runtime reports to the services. */
import { type Equivalent, of } from './equivalent.ts'

export const retry = of('apps/runtime/src/device/cloud/retry.ts', [
  'let isWanted = false',
  'false → true',
  'the work sets it to false before it reads it',
])

const gps = 'apps/runtime/src/location/gps'

export const publisher: readonly Equivalent[] = [
  ...of(`${gps}/publisher.ts`, [
    "let owner = ''",
    '\'\' → "Stryker was here!"',
    'for a first account, what is dropped is empty',
  ]),
  ...of(`${gps}/publisher-delivery.ts`, [
    'refused: { fixedAt: never, at: never },',
    '{ fixedAt: never, at: never } → {}',
    'no fix has the time -Infinity or undefined',
  ]),
  ...of(`${gps}/publisher-send.ts`, [
    '...readGpsSignal(signal, []),',
    '[] → ["Stryker was here"]',
    'it is the path in an error, and a stored signal is valid',
  ]),
]
