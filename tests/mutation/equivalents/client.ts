/** Of the client library: verification of access tokens in a backend. */
import { type Equivalent, of } from './equivalent.ts'

const backend = 'packages/client/src/backend'
const abortsOnce = 'a signal aborts once'

export const client: readonly Equivalent[] = [
  ...of(
    `${backend}/issuer-keys.ts`,
    [
      'const key = keys?.get(kid)?.key',
      'keys?.get → keys.get',
      'without keys, the fetch failed and has thrown, or it has set them',
    ],
    [
      "signal.addEventListener('abort', () => reject(signal.reason), { once: true })",
      '{ once: true } → {}',
      abortsOnce,
    ],
    [
      "signal.addEventListener('abort', () => reject(signal.reason), { once: true })",
      'true → false',
      abortsOnce,
    ],
  ),
  ...of(`${backend}/proof.ts`, [
    "crypto.subtle.importKey('jwk', { kty, crv, x, y }, algorithm, false, ['verify']).catch(() => {",
    'false → true',
    'the key is public, and nothing exports it',
  ]),
  ...of(`${backend}/verifier.ts`, [
    "code === 'busy' ? code : 'invalid_dpop_proof'",
    "code === 'busy' → true",
    'without nonces, the only other code is invalid_dpop_proof',
  ]),
]
