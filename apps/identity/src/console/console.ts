/** The console: pages for people, and the API behind them. This is where its parts meet. */
import type { Clock } from '@selvedge/service-kit/clock'
import type { Rate } from '@selvedge/service-kit/http'
import type { Log } from '@selvedge/service-kit/log'
import type { SqlStore } from '@selvedge/service-kit/store'
import type { SharedDpopVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { Audit } from '../audit/audit.ts'
import type { Changes } from '../changes/changes.ts'
import type { DeviceRequests } from '../grants/device-requests.ts'
import type { Limits } from '../grants/limits.ts'
import type { SignIns } from '../grants/sign-ins.ts'
import type { Accounts } from '../registry/accounts.ts'
import type { DeveloperTokens } from '../registry/developer-tokens.ts'
import type { Links } from '../registry/links.ts'
import type { Nodes } from '../registry/nodes.ts'
import type { OneTime } from '../registry/one-time.ts'
import type { People } from '../registry/people.ts'
import type { Projects } from '../registry/projects.ts'
import type { SharedLimiter } from '../replicas/shared-limiter.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { addConsoleApi } from './api.ts'
import { createEnter } from './enter.ts'
import { createEvents } from './events.ts'
import { accountHandlers } from './handlers/account.ts'
import { deviceHandlers } from './handlers/devices.ts'
import { linkHandlers } from './handlers/links.ts'
import { personHandlers } from './handlers/person.ts'
import { projectHandlers } from './handlers/projects.ts'
import { signInHandlers } from './handlers/sign-in.ts'
import { tokenHandlers } from './handlers/tokens.ts'
import { createKnownBrowsers } from './known-browsers.ts'
import { addPages } from './pages.ts'
import { createPasskeys } from './passkeys.ts'
import { createPasswords } from './passwords.ts'
import type { Places } from './places.ts'
import { createRecoveryCodes } from './recovery-codes.ts'
import { createSessions } from './sessions.ts'

export interface ConsoleParts {
  readonly store: SqlStore
  readonly clock: Clock
  readonly changes: Changes
  readonly log: Log
  readonly accounts: Accounts
  readonly people: People
  readonly projects: Projects
  readonly nodes: Nodes
  readonly developerTokens: DeveloperTokens
  readonly oneTime: OneTime
  readonly links: Links
  readonly signIns: SignIns
  readonly deviceRequests: DeviceRequests
  readonly revocations: Revocations
  readonly places: Places
  readonly audit: Audit
  readonly limits: Limits
  readonly dpop: SharedDpopVerifier
  readonly lifetimes: { readonly access: number; readonly developer: number }
  readonly issuer: () => string
  readonly consoleUrl: () => string
  readonly trustedProxies: readonly string[]
  /** A rate that all replicas share. */
  readonly limiterOf: (name: string, rate: Rate) => SharedLimiter
  /** Folder of the built pages. */
  readonly pages: string
}

/** Tries of a secret: a few at once, then slowly; more from one network address, which many people may share. */
const rates = {
  address: { burst: 20, perSecond: 1 / 3 },
  person: { burst: 5, perSecond: 1 / 10 },
  strangers: { burst: 50, perSecond: 1 / 60 },
  browser: { burst: 10, perSecond: 1 / 10 },
  code: { burst: 10, perSecond: 1 / 60 },
}

export function addConsole(app: FastifyInstance, parts: ConsoleParts): { stop(): void } {
  const { store, clock, oneTime, nodes, places } = parts
  const site = () => new URL(parts.consoleUrl())
  const sessions = createSessions(store, clock, parts.changes)
  const knownBrowsers = createKnownBrowsers(store, clock)
  const shared = {
    ...parts,
    knownBrowsers,
    sessions,
    enter: createEnter({ ...parts, sessions, knownBrowsers }),
    passkeys: createPasskeys(store, clock, oneTime, parts.links, site),
    passwords: createPasswords(),
    recoveryCodes: createRecoveryCodes(store, clock),
    identityUrl: parts.issuer,
    developerLifetime: parts.lifetimes.developer,
    codeTries: parts.limiterOf('code', rates.code),
    tries: {
      address: parts.limiterOf('address', rates.address),
      person: parts.limiterOf('person', rates.person),
      strangers: parts.limiterOf('strangers', rates.strangers),
      browser: parts.limiterOf('browser', rates.browser),
    },
  }
  const handlers = {
    ...signInHandlers(shared),
    ...linkHandlers(shared),
    ...personHandlers(shared),
    ...accountHandlers(shared),
    ...projectHandlers(shared),
    ...tokenHandlers(shared),
    ...deviceHandlers(shared),
  }
  const events = createEvents({ nodes, places, clock, changes: parts.changes })
  addConsoleApi(app, { ...parts, handlers, sessions, events, site })
  addPages(app, parts.pages, site)
  return { stop: () => events.stop() }
}
