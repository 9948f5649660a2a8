/** Discovery: what one node learns about another. */
import type { Change } from '../change.ts'

const discovery = 'apps/discovery/src'
const endpoints = `${discovery}/endpoints`

export const discoveryChanges: readonly Change[] = [
  {
    file: `${endpoints}/show.ts`,
    from: "const isOwn = audience === 'account'",
    to: "const isOwn = audience !== 'account' || now > 0",
    breaks: 'other accounts see the minute of a fix, not its second',
    tests: [`${endpoints}/show.test.ts`],
  },
  {
    file: `${endpoints}/show.ts`,
    from: "fix: showFix(location, 'others', now),",
    to: "fix: showFix(location, 'account', now),",
    breaks: 'a stranger sees the rounded location',
    tests: [`${endpoints}/show.test.ts`],
  },
  {
    file: `${endpoints}/node-lists.ts`,
    from: 'return location.accountId === accountId\n',
    to: "return location.accountId !== ''\n",
    breaks: 'a node nearby of another account is shown as a stranger',
    tests: [`${endpoints}/node-lists.test.ts`],
  },
  {
    file: `${endpoints}/node-lists.ts`,
    from: "takeOrRefuse(limiter, nodeId, 'this node from other places')\n",
    to: '',
    breaks: 'a node that jumps between locations is slowed down',
    tests: [`${endpoints}/node-lists.test.ts`],
  },
  {
    file: `${endpoints}/nodes.ts`,
    from: "takeOrRefuse(limiter, asker.nodeId, 'this node')\n",
    to: '',
    breaks: 'requests of one node are limited',
    tests: [`${endpoints}/nodes.test.ts`],
  },
  {
    file: `${endpoints}/fixes.ts`,
    from: 'if (fix.fixedAt > receivedAt + toleranceMs) {',
    to: 'if (fix.fixedAt > receivedAt + 1000 * toleranceMs) {',
    breaks: 'a fix of the future is refused',
    tests: [`${endpoints}/fixes.test.ts`],
  },
  {
    file: `${endpoints}/fixes.ts`,
    from: "if (before === 'left')",
    to: 'if (before === undefined)',
    breaks: 'a node that left the account reports nothing for it',
    tests: [`${endpoints}/fixes.test.ts`],
  },
  {
    file: `${endpoints}/read-track.ts`,
    from: "const isShared = isOwn || last?.sharing.account === 'exact'",
    to: 'const isShared = isOwn || last !== undefined',
    breaks: 'a track is shown where the exact location is shared',
    tests: [`${endpoints}/read-track.test.ts`],
  },
  {
    file: `${discovery}/trust/realms.ts`,
    from: "tenant === first ? '' : separator + digest(tenant)",
    to: "''",
    breaks: 'accounts of two issuers with the same ID are not the same',
    tests: [`${discovery}/trust/realms.test.ts`],
  },
  {
    file: `${discovery}/sessions/sessions.ts`,
    from: 'if (reason !== undefined) throw',
    to: "if (reason === '') throw",
    breaks: 'a session that came from a revoked token is refused',
    tests: [`${discovery}/sessions/sessions.test.ts`],
  },
]
