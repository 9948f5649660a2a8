/** What the unit tests of the console's handlers share: the real registry in memory, and people who call. */
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog, type FakeClock } from '@selvedge/service-kit/testing'
import type { ConsoleContext, Viewer } from '../../apps/identity/src/api/console/context.ts'
import { createEnter } from '../../apps/identity/src/api/console/enter.ts'
import { createKnownBrowsers } from '../../apps/identity/src/registry/credentials/known-browsers.ts'
import { createNodes } from '../../apps/identity/src/registry/nodes/nodes.ts'
import { createDeveloperTokens } from '../../apps/identity/src/registry/projects/developer-tokens.ts'
import { createFederatedSubjects } from '../../apps/identity/src/registry/projects/federated-subjects.ts'
import { createTrustedIssuers } from '../../apps/identity/src/registry/projects/issuers.ts'
import { createProjects } from '../../apps/identity/src/registry/projects/projects.ts'
import { createAppConsents } from '../../apps/identity/src/registry/sign-ins/app-consents.ts'
import { createDeviceRequests } from '../../apps/identity/src/registry/sign-ins/device-requests.ts'
import type { Audit, AuditEntry } from '../../apps/identity/src/storage/audit/audit.ts'
import { createSharedLimiter } from '../../apps/identity/src/storage/replicas/shared-limiter.ts'
import { createSeal } from '../../apps/identity/src/storage/secrets/seal.ts'
import { openPeopleStore, type PeopleStore } from './people.ts'

/** How a viewer differs from a local sign-in at this moment. */
interface SignedIn {
  readonly companyId?: string
  /** Milliseconds since the sign-in. */
  readonly age?: number
}

/** What signs and stores, and the parts of the registry that the handlers change. */
function createParts(opened: PeopleStore, clock: FakeClock, audit: Audit) {
  const { store, people, sessions } = opened
  const keys = {
    prepare: async () => undefined,
    sign: (typ: string, claims: object) => JSON.stringify({ typ, ...claims }),
  } as never
  const seal = createSeal([Buffer.alloc(32, 9)])
  const issuer = () => 'https://identity.example'
  const shared = { ...opened, audit, clock, keys, seal, issuer, log: createMemoryLog(), epoch: () => 7 }
  const knownBrowsers = createKnownBrowsers(store, clock)
  return {
    ...shared,
    knownBrowsers,
    enter: createEnter({ people, sessions, audit, knownBrowsers }),
    projects: createProjects({ ...shared, maxProjects: 5 }),
    developerTokens: createDeveloperTokens({ ...shared, maxTokens: 5 }),
    nodes: createNodes({ ...shared, maxNodes: 10 }),
    trustedIssuers: createTrustedIssuers({ ...shared, maxIssuers: 5 }),
    federatedSubjects: createFederatedSubjects(shared),
    appConsents: createAppConsents(store),
    deviceRequests: createDeviceRequests(store, clock, 10, () => 7),
    /** A limit of two calls. */
    limiterOf: (name: string) => createSharedLimiter(store, clock, name, { burst: 2, perSecond: 0.1 }),
  }
}

/** Puts rows into the tables that the handlers read. */
const createRows = ({ store, signIns, nodes, clock }: ReturnType<typeof createParts>) => ({
  run: (text: string) => store.run({ sql: text, values: [] }),
  addProject: (clientId: string, accountId: string) =>
    store.run(sql`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
      VALUES (${clientId}, ${`project ${clientId}`}, ${accountId}, 'openid offline_access', '[]', 1, 0)`),
  /** A sign-in of a terminal, in a project. */
  addSignIn: (sid: string, clientId: string, accountId = 'a', personId = 'ada') =>
    signIns.begin({
      ...{ sid, clientId, accountId, personId, email: `${personId}@example.com`, nodeId: '', origin: '' },
      ...{ scope: 'openid', audience: 'x', jkt: '', authTime: 0, epoch: 7, described: 'a terminal' },
    }),
  /** A device of an account, with the IDs of its services. */
  addNode: (nodeId: string, accountId: string, services: readonly { id: string }[] = []) =>
    nodes.save(
      {
        ...{ nodeId, name: `node ${nodeId}`, accountId, enrolledAt: 0, lastSeenAt: clock.now() },
        ...{ blockedAt: null, version: '1.0.0', removedAccount: '', accountEpoch: 0, accountAt: 0 },
        hmac: { nodeKey: '{}', cloudKey: '{}', secret: 'x' },
        services: services.map((each) => ({ name: 'van', image: 'x', state: 'running', ...each })) as never,
      },
      { isNews: true, accountBefore: '' },
    ),
})

/** Account `a` with the owner ada and the member bob, and account `b` with the owner cy. */
export async function openConsoleStore() {
  const clock = createFakeClock()
  const opened = await openPeopleStore(clock)
  const { sessions } = opened
  const entries: AuditEntry[] = []
  const audit = {
    ...opened.audit,
    async record(entry: AuditEntry) {
      entries.push(entry)
      await opened.audit.record(entry)
    },
  }
  for (const account of ['a', 'b']) await opened.addAccount(account)
  await opened.join('a', 'ada', 'owner')
  await opened.join('a', 'bob')
  await opened.join('b', 'cy', 'owner')
  const parts = createParts(opened, clock, audit)

  return {
    ...parts,
    ...createRows(parts),
    /** A person of an account, signed in at a browser of its own. */
    async viewerOf(
      personId: string,
      accountId = 'a',
      { companyId = '', age = 0 }: SignedIn = {},
    ): Promise<Viewer> {
      const browser = { method: 'password', address: '192.0.2.7', userAgent: 'Firefox', jkt: personId }
      const secret = await sessions.create({ personId, accountId, ...browser })
      const { session, reach } = (await sessions.find(secret!, personId))!
      const { person, memberships } = reach!
      return {
        session: { ...session, companyId, authTime: session.authTime - age },
        person,
        membership: memberships.find((each) => each.accountId === accountId)!,
        memberships,
      }
    },
    /** Entries of the audit log, the oldest first: who, did what, to what, with which outcome, and more. */
    audited: (accountId = 'a') =>
      entries
        .filter((each) => each.accountId === accountId)
        .map(({ actor, action, subject, outcome, detail, address }) =>
          [
            actor.split('@')[0],
            action,
            subject,
            outcome,
            detail,
            address === contextOf().address ? '' : address,
          ]
            .filter(Boolean)
            .join(' '),
        ),
  }
}

export type ConsoleStore = Awaited<ReturnType<typeof openConsoleStore>>

/** What the transport passes to a handler. */
export const contextOf = (viewer?: Viewer): ConsoleContext => ({
  ...{
    requestId: 'r',
    viewer,
    jkt: viewer?.person.personId ?? 'key',
    address: '192.0.2.1',
    userAgent: 'Firefox',
  },
})
