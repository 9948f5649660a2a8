/**
 * What this service knows: its signing keys and what was revoked; accounts, the people in them and how they sign in; projects with their
 * developer ID tokens; nodes; and the sign-ins of programs.
 *
 * It depends on the storage. It must not know when a token is issued, or how requests arrive: the groups after it decide that.
 */
import { identityReportSeconds, onlineWindowMs } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import type { IdentityConfig } from '../config.ts'
import type { Storage } from '../storage/storage.ts'
import type { SweepTask } from '../storage/sweep/sweep.ts'
import { createKnownBrowsers, type KnownBrowsers } from './credentials/known-browsers.ts'
import { createOneTime, type OneTime } from './credentials/one-time.ts'
import { createPasskeys, type Passkeys } from './credentials/passkeys.ts'
import { createPasswords, type Passwords } from './credentials/passwords.ts'
import { createRecoveryCodes, type RecoveryCodes } from './credentials/recovery-codes.ts'
import { createSessions, type Sessions } from './credentials/sessions.ts'
import { removeExpiredRows } from './expired-rows.ts'
import { createJoinBlocks, type JoinBlocks } from './join/join-blocks.ts'
import { createJoinKeys, type JoinKeys } from './join/join-keys.ts'
import { createJoinRules, type JoinRules } from './join/join-rules.ts'
import { createJoinUses, type JoinUses } from './join/join-uses.ts'
import { removeOldKeys } from './join/old-keys.ts'
import { openSigningKeys, type SigningKeys } from './keys/signing-keys.ts'
import { type Copies, createCopies } from './nodes/copies.ts'
import { createDeviceFacets, type DeviceFacets } from './nodes/device-facets.ts'
import { createDeviceHistory, type DeviceHistory } from './nodes/device-history.ts'
import { createDeviceLabels, type DeviceLabels } from './nodes/device-labels.ts'
import { createReadAttention, type ReadAttention } from './nodes/device-needs.ts'
import { createDeviceVitals, type DeviceVitalsStore } from './nodes/device-vitals.ts'
import { createEnrolmentCodes, type EnrolmentCodes } from './nodes/enrolment-codes.ts'
import { createNodes, type Nodes } from './nodes/nodes.ts'
import { removeStrangers } from './nodes/strangers.ts'
import { type Accounts, createAccounts } from './people/accounts.ts'
import { type Companies, createCompanies } from './people/companies.ts'
import { type CompanyPeople, createCompanyPeople } from './people/company-people.ts'
import { createLinks, type Links } from './people/links.ts'
import { createPeople, type People, reachQuery } from './people/people.ts'
import { createDeveloperTokens, type DeveloperTokens } from './projects/developer-tokens.ts'
import { createExpiringTokens } from './projects/expiring-tokens.ts'
import { createFederatedSubjects, type FederatedSubjects } from './projects/federated-subjects.ts'
import { createIssuerKeySets, type IssuerKeySets } from './projects/issuer-key-sets.ts'
import { createTrustedIssuers, type TrustedIssuers } from './projects/issuers.ts'
import { followLeases, offlineExpiry } from './projects/offline.ts'
import { createKnownOrigins, type IsKnownOrigin } from './projects/project-apps.ts'
import { createProjects, type Projects } from './projects/projects.ts'
import { revocationExpiry } from './revocation/expiry.ts'
import { createFolding } from './revocation/folding.ts'
import { openRevocationList, type RevocationList } from './revocation/list.ts'
import { openRevocations, type Revocations } from './revocation/revocations.ts'
import { createGroups, type Groups } from './shares/groups.ts'
import { createShares, type Shares } from './shares/shares.ts'
import { type AppConsents, createAppConsents } from './sign-ins/app-consents.ts'
import { type AuthorizationCodes, createAuthorizationCodes } from './sign-ins/authorization-codes.ts'
import { createDeviceRequests, type DeviceRequests } from './sign-ins/device-requests.ts'
import { createLeaseSources, type LeaseSources } from './sign-ins/lease-sources.ts'
import { createPushedRequests, type PushedRequests } from './sign-ins/pushed-requests.ts'
import { createSignIns, type SignIns } from './sign-ins/sign-ins.ts'
import type { Urls } from './urls.ts'

/** How people prove who they are. */
interface Credentials {
  readonly sessions: Sessions
  readonly knownBrowsers: KnownBrowsers
  readonly passkeys: Passkeys
  readonly passwords: Passwords
  readonly recoveryCodes: RecoveryCodes
  /** Values that can be used once. */
  readonly oneTime: OneTime
}

/** What signs tokens, and what ends them early. */
interface Authority {
  readonly keys: SigningKeys
  readonly revocations: Revocations
  readonly revocationList: RevocationList
  readonly tasks: readonly SweepTask[]
}

export interface Registry extends Credentials, Authority {
  readonly urls: Urls
  readonly accounts: Accounts
  readonly people: People
  readonly links: Links
  /** Companies with a provider of their own. */
  readonly companies: Companies
  readonly companyPeople: CompanyPeople
  /** Groups of people, and services that are shared with people of other accounts. */
  readonly groups: Groups
  readonly shares: Shares
  readonly projects: Projects
  /** Issuers that projects trust, and the subjects of their accepted tokens. */
  readonly trustedIssuers: TrustedIssuers
  readonly federatedSubjects: FederatedSubjects
  readonly issuerKeySets: IssuerKeySets
  readonly developerTokens: DeveloperTokens
  /** Developer ID tokens of a person that expire soon. */
  readonly expiringTokens: ReturnType<typeof createExpiringTokens>
  readonly nodes: Nodes
  readonly labels: DeviceLabels
  readonly vitals: DeviceVitalsStore
  readonly history: DeviceHistory
  /** How many devices of an account need a person, and for what. */
  readonly attention: ReadAttention
  /** What the devices of an account can be filtered by. */
  readonly facets: (accountId: string) => Promise<DeviceFacets>
  readonly codes: EnrolmentCodes
  /** Devices with the key of one node. */
  readonly copies: Copies
  /** By which new devices join an account. */
  readonly joinKeys: JoinKeys
  readonly joinUses: JoinUses
  readonly joinRules: JoinRules
  readonly joinBlocks: JoinBlocks
  readonly signIns: SignIns
  readonly deviceRequests: DeviceRequests
  readonly leaseSources: LeaseSources
  readonly isKnownOrigin: IsKnownOrigin
  readonly pushedRequests: PushedRequests
  readonly authorizationCodes: AuthorizationCodes
  readonly appConsents: AppConsents
  /** What removes rows that expired. */
  readonly tasks: readonly SweepTask[]
  /** Begins to rotate the signing keys when they are due. */
  start(): void
  close(): Promise<void>
}

/** Maximum lifetimes in seconds: of any token, and of tokens that others than this service verify. */
export const maxLifetime = { anySeconds: 366 * 86_400, verifiedByOthersSeconds: 2 * 86_400 }
/** Milliseconds between two checks of the age of the signing key. */
const rotationCheckMs = 60_000

export async function openRegistry(config: IdentityConfig, storage: Storage, urls: Urls): Promise<Registry> {
  const { store, clock, changes } = storage
  const authority = await openAuthority(config, storage, urls)
  const { keys, revocations } = authority
  const links = createLinks(store, clock, config['limits.members'])
  const shared = { ...storage, ...authority, issuer: urls.issuer, epoch: changes.epoch }
  const secret = await storage.openSecret('refresh_secret')
  const graceSeconds = config['refresh.grace']
  const people = createPeople(store, changes, revocations, clock)
  const companies = createCompanies({ ...shared, people })
  const labels = createDeviceLabels(store)
  const rotate = shareRun(keys.rotateIfDue)
  const federatedSubjects = createFederatedSubjects(storage)
  const nodes = createNodes({ ...shared, maxNodes: config['limits.nodes'] })
  const joining = createJoining(storage, nodes, labels)
  let timer: NodeJS.Timeout | undefined

  return {
    ...authority,
    ...createCredentials(storage, urls, links),
    urls,
    accounts: createAccounts(store, clock),
    people,
    companies,
    companyPeople: createCompanyPeople({ ...shared, people, maxMembers: config['limits.members'] }),
    links,
    groups: createGroups(shared),
    shares: createShares(shared),
    projects: createProjects({ ...shared, maxProjects: config['limits.projects'] }),
    trustedIssuers: createTrustedIssuers({ ...shared, maxIssuers: config['limits.issuers'] }),
    federatedSubjects,
    issuerKeySets: createIssuerKeySets(store),
    developerTokens: createDeveloperTokens({ ...shared, maxTokens: config['limits.developerTokens'] }),
    expiringTokens: createExpiringTokens(store, clock),
    nodes,
    labels,
    vitals: createDeviceVitals(store),
    history: createDeviceHistory(store, onlineWindowMs(identityReportSeconds(config['lifetime.edge']))),
    attention: createReadAttention(store),
    facets: createDeviceFacets(store),
    codes: createEnrolmentCodes(store, clock),
    copies: createCopies(store, clock, storage.audit),
    ...joining,
    signIns: createSignIns({ ...shared, secret, lifetimeSeconds: config['lifetime.refresh'], graceSeconds }),
    leaseSources: createLeaseSources(store),
    deviceRequests: createDeviceRequests(store, clock, graceSeconds, changes.epoch),
    isKnownOrigin: createKnownOrigins(store, changes),
    pushedRequests: createPushedRequests(store, clock),
    authorizationCodes: createAuthorizationCodes(store, clock, changes.epoch, revocations),
    appConsents: createAppConsents(store),
    tasks: [
      ...removeExpiredRows(store),
      offlineExpiry(store),
      federatedSubjects.task,
      companies.task,
      removeStrangers(store, config['nodes.forgetAfter'] * 1000),
      removeOldKeys(store),
      joining.joinBlocks.task,
      ...authority.tasks,
    ],
    start() {
      timer = setInterval(safely('keys.rotate', rotate), rotationCheckMs)
    },
    async close() {
      clearInterval(timer)
      await rotate.present()?.catch(() => undefined)
    },
  }
}

const createJoining = (
  { store, clock, audit }: Storage,
  nodes: Nodes,
  { tagsOf }: DeviceLabels,
): Pick<Registry, 'joinKeys' | 'joinUses' | 'joinRules' | 'joinBlocks'> => ({
  joinKeys: createJoinKeys(store, clock, tagsOf),
  joinUses: createJoinUses(store, clock),
  joinRules: createJoinRules(store),
  joinBlocks: createJoinBlocks(store, nodes, audit),
})

async function openAuthority(config: IdentityConfig, storage: Storage, urls: Urls): Promise<Authority> {
  const { store, clock, changes } = storage
  const keys = await openSigningKeys({
    ...storage,
    maxLifeSeconds: maxLifetime.anySeconds,
    publishedSeconds: maxLifetime.verifiedByOthersSeconds,
    leasesSeconds: await followLeases(store, clock, changes),
    rotateAfter: config['keys.rotateAfter'],
  })
  const bounds = { perAccount: config['revocations.perAccount'], inAll: config['revocations.inAll'] }
  const folding = createFolding({ ...storage, bounds })
  const revocations = await openRevocations(store, clock, changes, maxLifetime.anySeconds, folding)
  return {
    keys,
    revocations,
    revocationList: await openRevocationList({ store, clock, keys, issuer: urls.issuer }),
    tasks: revocationExpiry(store, revocations, folding),
  }
}

function createCredentials({ store, clock, changes }: Storage, urls: Urls, links: Links): Credentials {
  const site = () => new URL(urls.console())
  const oneTime = createOneTime(store, clock)
  return {
    sessions: createSessions(store, clock, changes, reachQuery),
    knownBrowsers: createKnownBrowsers(store, clock),
    oneTime,
    passkeys: createPasskeys(store, clock, oneTime, links, site),
    passwords: createPasswords(),
    recoveryCodes: createRecoveryCodes(store, clock),
  }
}
