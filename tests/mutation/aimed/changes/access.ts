/** Access checks: who may do what with a token that is valid. */
import type { Change } from '../change.ts'

const checks = 'apps/identity/src/tokens/checks'
const device = 'apps/runtime/src/device/tokens'
const gateway = 'apps/runtime/src/services/gateway'
const kit = 'packages/service-kit/src/tokens'

export const accessChanges: readonly Change[] = [
  {
    file: `${checks}/node-allowed.ts`,
    from: 'if (node && node.blockedAt !== null)',
    to: 'if (node && node.blockedAt === undefined)',
    breaks: 'a blocked node gets no access token',
    tests: [`${checks}/checks.test.ts`],
  },
  {
    file: `${checks}/scope-allowed.ts`,
    from: 'if (!scopes.includes(scope))',
    to: 'if (scopes.length === 0)',
    breaks: 'a project gets only scopes that it may have',
    tests: [`${checks}/checks.test.ts`],
  },
  {
    file: `${checks}/resource-allowed.ts`,
    from: 'if (resources.includes(asked)) return',
    to: 'if (asked !== undefined) return',
    breaks: 'a project gets tokens for its own resources only',
    tests: [`${checks}/checks.test.ts`],
  },
  {
    file: `${checks}/client-active.ts`,
    from: 'if (project?.active) return project',
    to: 'if (project) return project',
    breaks: 'a project that was turned off gets no token',
    tests: [`${checks}/checks.test.ts`],
  },
  {
    file: `${checks}/account-statement.ts`,
    from: 'token.node_id === nodeId &&\n',
    to: '',
    breaks: 'a node joins an account only by a token for this node',
    tests: [`${checks}/account-statement.test.ts`],
  },
  {
    file: `${checks}/scope-approved.ts`,
    from: 'if (more.length === 0) return',
    to: 'if (more.length < asked.length) return',
    breaks: 'a request stays within the scopes that the person approved',
    tests: [`${checks}/checks.test.ts`],
  },
  {
    file: `${device}/authorize.ts`,
    from: 'if (claims.node_id !== nodeId) {',
    to: 'if (claims.node_id === undefined) {',
    breaks: 'a token of another node is refused',
    tests: [`${device}/authorize.test.ts`],
  },
  {
    file: `${device}/authorize.ts`,
    from: 'if (claims.cnf) checkProof(token, claims.cnf.jkt, request)',
    to: 'if (claims.cnf && request.dpop !== undefined) checkProof(token, claims.cnf.jkt, request)',
    breaks: 'a bound token needs a proof',
    tests: [`${device}/authorize.test.ts`],
  },
  {
    file: `${device}/authorize.ts`,
    from: 'if (account_id !== accountId && !isShared)',
    to: 'if (account_id === "" && !isShared)',
    breaks: 'a token of another account is refused',
    tests: [`${device}/authorize.test.ts`],
  },
  {
    file: `${device}/proof.ts`,
    from: 'if (found !== jkt)',
    to: "if (found === '')",
    breaks: 'a proof of another key is refused',
    tests: [`${device}/authorize.test.ts`, `${device}/callers.test.ts`],
  },
  {
    file: `${gateway}/admit.ts`,
    from: 'if (caller.account !== container.accountId)',
    to: "if (caller.account === '')",
    breaks: 'a service with access for its account refuses other accounts',
    tests: [`${gateway}/admit.test.ts`],
  },
  {
    file: `${gateway}/admit.ts`,
    from: 'if (ownProjectOnly && caller.client !== container.clientId)',
    to: "if (ownProjectOnly && caller.client === '')",
    breaks: 'a service with access for its project refuses other projects',
    tests: [`${gateway}/admit.test.ts`],
  },
  {
    file: `${gateway}/users.ts`,
    from: 'if (share.until + leeway <= now() / 1000)',
    to: 'if (share.until === 0)',
    breaks: 'a share of a service ends',
    tests: [`${gateway}/users.test.ts`],
  },
  {
    file: `${kit}/revocation.ts`,
    from: "if (sid !== undefined && endingOf('id', sid)) return 'the sign-in that it came from was revoked'\n",
    to: '',
    breaks: 'a token of a revoked sign-in is revoked',
    tests: [`${kit}/revocation.test.ts`],
  },
  {
    file: `${kit}/dpop.ts`,
    from: 'if (body !== undefined && bh !== hashOf(body))',
    to: 'if (body !== undefined && bh === undefined)',
    breaks: 'a proof that covers a body is for this body',
    tests: [`${kit}/dpop.test.ts`],
  },
  {
    file: `${kit}/session.ts`,
    from: 'if (plain.readUIntBE(6, 6) <= now)',
    to: 'if (plain.readUIntBE(6, 6) === 0)',
    breaks: 'the session of a node expires',
    tests: [`${kit}/session.test.ts`],
  },
]
