/** Identity: sessions, sign-ins, grants, and what ends them. */
import type { Change } from '../change.ts'

const identity = 'apps/identity/src'
const credentials = `${identity}/registry/credentials`
const signIns = `${identity}/registry/sign-ins`
const tokens = `${identity}/tokens`

export const identityChanges: readonly Change[] = [
  {
    file: `${identity}/registry/people/members.ts`,
    from: "        from('DELETE FROM sessions'),\n",
    to: '',
    breaks: 'the sessions of a removed member end',
    tests: [`${identity}/registry/people/removal-suite.test.ts`],
  },
  {
    file: `${identity}/registry/people/members.ts`,
    from: "        from('SELECT jti AS id FROM developer_tokens'),\n",
    to: '',
    breaks: 'the developer ID tokens of a removed member are revoked',
    tests: [`${identity}/registry/people/removal-suite.test.ts`],
  },
  {
    file: `${tokens}/authorize/tickets.ts`,
    from: 'clock.now() - seenAt <= lifeMs ? seenAt : undefined',
    to: 'seenAt',
    breaks: 'a ticket of an authorization request expires after an hour',
    tests: [`${tokens}/authorize/tickets.test.ts`],
  },
  {
    file: `${credentials}/sessions.ts`,
    from: 'if (row.jkt !== jkt) return',
    to: 'if (jkt !== undefined && row.jkt !== jkt) return',
    breaks: 'a cookie without a proof of its key is no session',
    tests: [`${credentials}/sessions.test.ts`],
  },
  {
    file: `${credentials}/sessions.ts`,
    from: 'now + (company ? companyLifeMs : sessionTimes.lifeMs)',
    to: 'now + sessionTimes.lifeMs',
    breaks: 'a session of a company ends after twelve hours',
    tests: [`${credentials}/sessions.test.ts`],
  },
  {
    file: `${credentials}/one-time.ts`,
    from: 'AND purpose = $',
    to: "AND '' <> $",
    breaks: 'a challenge for registering a passkey is no challenge for signing in',
    tests: [`${credentials}/one-time.test.ts`],
  },
  {
    file: `${credentials}/passwords.ts`,
    from: 'if (waiting.length >= longestQueue)',
    to: 'if (waiting.length > 1_000_000)',
    breaks: 'at most 50 sign-ins wait for the check of their password',
    tests: [`${credentials}/passwords.test.ts`],
  },
  {
    file: `${credentials}/passwords.ts`,
    from: 'return timingSafeEqual(found, tag)',
    to: 'return timingSafeEqual(found.subarray(0, 1), tag.subarray(0, 1))',
    breaks: 'the whole hash of a password is compared',
    tests: [`${credentials}/passwords.test.ts`],
  },
  {
    file: `${tokens}/grants/authorization-code.ts`,
    from: "if (hash('sha256', shown.verifier, 'base64url') !== code.challenge)",
    to: "if (code.challenge === '')",
    breaks: 'a code is only for the client with its PKCE verifier',
    tests: [`${tokens}/grants/authorization-code.test.ts`],
  },
  {
    file: `${tokens}/grants/authorization-code.ts`,
    from: 'if (code.redirectUri !== shown.redirectUri)',
    to: 'if (shown.redirectUri === undefined)',
    breaks: 'a code is redeemed with the redirect URI of its request',
    tests: [`${tokens}/grants/authorization-code.test.ts`],
  },
  {
    file: `${tokens}/grants/refresh-token.ts`,
    from: "if (signIn.jkt !== '' && signIn.jkt !== jkt)",
    to: "if (signIn.jkt !== '' && jkt === undefined)",
    breaks: 'a bound refresh token needs the proof of its own key',
    tests: [`${tokens}/grants/refresh-token.test.ts`],
  },
  {
    file: `${signIns}/rotations.ts`,
    from: "return now - at <= graceMs ? 'replaced' : 'reused'",
    to: "return 'replaced'",
    breaks: 'a refresh token that was replaced long ago counts as reused',
    tests: [`${signIns}/rotations.test.ts`, `${signIns}/sign-ins.test.ts`],
  },
  {
    file: `${signIns}/device-requests.ts`,
    from: "if (row.state === 'denied') return { outcome: 'denied' }",
    to: "if (row.state === 'denied') return { outcome: 'pending' }",
    breaks: 'a terminal hears that a person denied its request',
    tests: [`${signIns}/device-requests.test.ts`],
  },
  {
    file: `${tokens}/grants/device-code.ts`,
    from: "if (approved.jkt !== '' && approved.jkt !== jkt)",
    to: "if (approved.jkt !== '' && jkt === undefined)",
    breaks: 'a device code is only for the key that asked for it',
    tests: [`${tokens}/grants/device-code.test.ts`],
  },
  {
    file: `${tokens}/federation/federation.ts`,
    from: 'const rules = of.rules.filter(({ issuer }) => issuer === iss)',
    to: 'const rules = of.rules',
    breaks: 'the rules of one issuer admit no token of another one',
    tests: [`${tokens}/federation/federation.test.ts`],
  },
  {
    file: `${identity}/storage/secrets/seal.ts`,
    from: '.setAAD(Buffer.from(purpose))\n            .setAuthTag',
    to: '.setAAD(Buffer.alloc(0))\n            .setAuthTag',
    breaks: 'what was sealed for one purpose opens for it',
    tests: [`${identity}/storage/secrets/seal.test.ts`],
  },
  {
    file: `${tokens}/enrolment/enrolment.ts`,
    from: 'if (node.blockedAt === null) return node',
    to: 'return node',
    breaks: 'a blocked node gets no edge ID token',
    tests: [`${tokens}/enrolment/enrolment.test.ts`],
  },
]
