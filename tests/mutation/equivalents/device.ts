/** Of what the runtime reports to the services. */
import { type Equivalent, of } from './equivalent.ts'

export const retry = of('apps/runtime/src/device/cloud/retry.ts', [
  'let isWanted = false',
  'false → true',
  'the work sets it to false before it reads it',
])

const leasesFolder = 'apps/runtime/src/device/leases'

export const leases: readonly Equivalent[] = [
  ...of(`${leasesFolder}/confirmations.ts`, [
    "inBackground('leases.confirmed', stored)",
    "inBackground('leases.confirmed', stored) → ;",
    'the work has started, and its failure was logged: nothing rejects',
  ]),
  ...of(
    `${leasesFolder}/exchange-lease.ts`,
    [
      "throw tokenOAuthError(cause, 'invalid_grant')",
      '\'invalid_grant\' → ""',
      'a verifier of proofs throws errors that have a code',
    ],
    [
      'if (restartedAt !== undefined && iat <= restartedAt)',
      'restartedAt !== undefined → true',
      'no number is less than undefined',
    ],
  ),
  ...of(`${leasesFolder}/local-tokens.ts`, [
    'issuers: () => [{ issuer, findKey: (asked) => (asked === kid ? publicKey : undefined) }],',
    'asked === kid → true',
    'the signature of another key is refused under any name',
  ]),
]

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
