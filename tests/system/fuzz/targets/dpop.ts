import { DpopError, dpopType, type NodeStatement } from '@selvedge/protocol/tokens'
import { createDpopVerifier, signEs256, thumbprint } from '@selvedge/service-kit/tokens'
import { mutateJson } from '../engine/mutate-json.ts'
import { expectThat, outcomeOf, type Target } from '../engine/target.ts'
import { clock, keyOf, now } from './keys.ts'

const { jwk, privateKey } = keyOf('device')
const secret = Buffer.alloc(32, 7)
const htu = 'https://identity.example/edge/token'
const encode = (text: string): string => Buffer.from(text).toString('base64url')

function seed(more: object, node?: NodeStatement): Buffer {
  const nonce = createDpopVerifier(secret, clock).nonce()
  const header = { alg: 'ES256', typ: dpopType, jwk }
  const claims = { jti: 'once', htm: 'POST', htu, iat: now / 1000, nonce, ...(node && { node }), ...more }
  return Buffer.from(`${JSON.stringify(header)}\n${JSON.stringify(claims)}`)
}

/** DPoP proofs: header and claims, a line each, signed with the key of a device. What has one line is a proof as it comes. */
export const dpop: Target = {
  name: 'dpop',
  covers: [
    'packages/service-kit/src/tokens/dpop.ts',
    'packages/protocol/src/tokens/dpop.ts',
    'packages/protocol/src/tokens/checks/proof.ts',
    'packages/protocol/src/tokens/jwk.ts',
  ],
  seeds: () => [
    seed({}),
    seed({ ath: 'x'.repeat(43), bh: 'y'.repeat(43) }),
    seed(
      {},
      {
        name: 'device',
        hmac_key: jwk,
        version: '1.0',
        account: { id: 'account', access_token: 't'.repeat(900) },
        services: Array.from({ length: 20 }, (_, at) => ({
          id: `s${at}`,
          name: 'web',
          image: 'sha256:1',
          state: 'running',
        })),
      },
    ),
    Buffer.from('a.b.c'),
  ],
  mutators: [mutateJson],
  words: ['"d":"x"', '"kty":"oct"', '"crv":"P-384"', '"nonce":"."', '"nonce":"zzzzzzzzzz.', '\n', '.'],
  maxBytes: 6000,
  open: () => {
    const verifier = createDpopVerifier(secret, clock)
    return {
      parse: (input) => {
        const [first = '', second] = input.toString().split('\n')
        const signingInput = `${encode(first)}.${encode(second ?? '')}`
        const proof =
          second === undefined
            ? first
            : `${signingInput}.${signEs256(privateKey, signingInput).toString('base64url')}`
        return outcomeOf(() => {
          const verified = verifier.verify(proof, { htm: 'POST', htu })
          expectThat(verified.jkt === thumbprint(jwk), 'a proof of another key is valid')
        }, [DpopError])
      },
    }
  },
}
