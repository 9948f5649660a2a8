/** The client library, and the rules of tokens that it shares with the daemons. */
import type { Change } from '../change.ts'

const backend = 'packages/client/src/backend'
const tokens = 'packages/protocol/src/tokens'

export const clientChanges: readonly Change[] = [
  {
    file: `${backend}/verifier.ts`,
    from: 'checkClaims(jws.payload, accessProfile, audience, now() / 1000)',
    to: 'checkClaims(jws.payload, accessProfile, edgeAudience, now() / 1000)',
    breaks: 'a backend with the option audience refuses tokens for others',
    tests: [`${backend}/verifier.test.ts`],
  },
  {
    file: `${backend}/verifier.ts`,
    from: 'await checkSignature(jws, key)\n',
    to: '',
    breaks: 'a backend refuses a token with a wrong signature',
    tests: [`${backend}/verifier.test.ts`],
  },
  {
    file: `${backend}/verifier.ts`,
    from: 'if (iss !== issuer) throw',
    to: "if (iss === '') throw",
    breaks: 'a backend refuses a token of another issuer',
    tests: [`${backend}/verifier.test.ts`],
  },
  {
    file: `${backend}/verifier.ts`,
    from: '&& known.claims.exp + leeway > now() / 1000 ',
    to: '',
    breaks: 'a cached token expires',
    tests: [`${backend}/verifier.test.ts`],
  },
  {
    file: `${backend}/verifier.ts`,
    from: '&& (await findKey(known.kid)) === known.key',
    to: '',
    breaks: 'a cached token is refused once its issuer has withdrawn the key',
    tests: [`${backend}/verifier.test.ts`],
  },
  {
    file: `${backend}/proof.ts`,
    from: 'if ((await digest(thumbprintInput(jwk))) !== jkt)',
    to: "if ((await digest(thumbprintInput(jwk))) === '')",
    breaks: 'a proof of another key than that of the token is refused',
    tests: [`${backend}/proof.test.ts`, `${backend}/verifier.test.ts`],
  },
  {
    file: `${backend}/issuer-keys.ts`,
    from: 'since(fetchedAt) > times.longestMs',
    to: 'since(fetchedAt) > 1000 * times.longestMs',
    breaks: 'keys of an issuer that does not answer serve for a day at most',
    tests: [`${backend}/issuer-keys.test.ts`],
  },
  {
    file: `${tokens}/checks/audience.ts`,
    from: 'if (!audiences.includes(expected)) {',
    to: 'if (audiences.length === 0) {',
    breaks: 'a token for another audience is refused',
    tests: [`${tokens}/checks/claims.test.ts`],
  },
  {
    file: `${tokens}/checks/times.ts`,
    from: 'if (exp + leeway <= now && !acceptEnded) {',
    to: 'if (exp + leeway <= now - 86_400 && !acceptEnded) {',
    breaks: 'a token expires at its time',
    tests: [`${tokens}/checks/claims.test.ts`],
  },
  {
    file: `${tokens}/checks/proof.ts`,
    from: 'if (payload.htm !== htm || payload.htu !== htu)',
    to: 'if (payload.htm !== htm)',
    breaks: 'a proof for another URL is refused',
    tests: [`${tokens}/checks/proof.test.ts`],
  },
  {
    file: `${tokens}/used-proofs.ts`,
    from: "if (this.#used.has(key)) throw new DpopError('invalid_dpop_proof', 'the proof was used before')\n",
    to: '',
    breaks: 'a proof works once',
    tests: [`${tokens}/used-proofs.test.ts`],
  },
  {
    file: 'packages/protocol/src/redaction/secrets.ts',
    from: 'if (!suspicious.test(text)) return text',
    to: 'if (suspicious.test(text)) return text',
    breaks: 'secrets are removed from texts for logs',
    tests: ['packages/protocol/src/redaction/redaction.test.ts'],
  },
]
