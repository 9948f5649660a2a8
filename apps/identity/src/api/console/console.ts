/** The console: pages for people, and the API behind them. This is where its parts meet. */

import { identityReportSeconds } from '@selvedge/protocol'
import type { AddressSet } from '@selvedge/service-kit/address-set'
import type { Outbound } from '@selvedge/service-kit/network'
import type { SharedDpopVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { Registry } from '../../registry/registry.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Tokens } from '../../tokens/tokens.ts'
import { createAccountExports } from './account-exports.ts'
import { addConsoleApi } from './api.ts'
import { addAppPages } from './app-pages.ts'
import { createCallers } from './callers.ts'
import { createDescribeDevice } from './describe-device.ts'
import { addDeviceExport, addSelectedPlaces } from './device-export.ts'
import { createDeviceStates } from './device-states.ts'
import { createEnter } from './enter.ts'
import { createEvents } from './events.ts'
import { accountHandlers } from './handlers/account.ts'
import { authorizationHandlers } from './handlers/authorizations.ts'
import { companyHandlers } from './handlers/companies.ts'
import { deviceRequestHandlers } from './handlers/device-requests.ts'
import { deviceHandlers } from './handlers/devices.ts'
import { issuerHandlers } from './handlers/issuers.ts'
import { joinKeyHandlers } from './handlers/join-keys.ts'
import { linkHandlers } from './handlers/links.ts'
import { logoutHandlers } from './handlers/logout.ts'
import { type MapBackground, mapHandlers, originsOf } from './handlers/map.ts'
import { personHandlers } from './handlers/person.ts'
import { programSignInHandlers } from './handlers/program-sign-ins.ts'
import { projectHandlers } from './handlers/projects.ts'
import { shareHandlers } from './handlers/shares.ts'
import { signInHandlers } from './handlers/sign-in.ts'
import { tokenHandlers } from './handlers/tokens.ts'
import { addPages } from './pages.ts'
import { createPlaces } from './places.ts'
import { createShowDevices } from './show-devices.ts'
import { createSite } from './site.ts'

export interface ConsoleParts
  extends Omit<Registry, 'start' | 'close'>,
    Pick<Storage, 'clock' | 'log' | 'changes' | 'audit' | 'limiterOf'>,
    Pick<Tokens, 'authorizations' | 'verifier' | 'federation' | 'issuerKeys' | 'companySignIns'> {
  readonly dpop: SharedDpopVerifier
  /** Default lifetimes of tokens, in seconds. */
  readonly lifetimes: { readonly access: number; readonly developer: number; readonly edge: number }
  readonly issuer: () => string
  readonly consoleUrl: () => string
  readonly discoveryUrl: string
  readonly network: Outbound
  /** Background of the map, by the settings console.mapStyle and console.mapHosts. */
  readonly map: MapBackground
  readonly trustedProxies: AddressSet
  /** Folder of the built pages. */
  readonly pages: string
}

/** Exports of the devices of one account that may be under way. */
const maxDeviceExports = 2
/** Rate limits of attempts with a secret: a few at once, then slowly; more from one network address, which many people may share. */
const rates = {
  address: { burst: 20, perSecond: 1 / 3 },
  person: { burst: 5, perSecond: 1 / 10 },
  strangers: { burst: 50, perSecond: 1 / 60 },
  browser: { burst: 10, perSecond: 1 / 10 },
  code: { burst: 10, perSecond: 1 / 60 },
}

/** @returns `close` ends the streams of the console, and what it receives from the discovery service */
export function addConsole(app: FastifyInstance, parts: ConsoleParts): { close(): void } {
  const site = createSite(parts.consoleUrl)
  const places = createPlaces({ ...parts, url: parts.discoveryUrl })
  const states = createDeviceStates(parts.clock, identityReportSeconds(parts.lifetimes.edge))
  const describe = createDescribeDevice(states)
  const show = createShowDevices(places, describe)
  const events = createEvents({ ...parts, places, describe })
  const shared = {
    ...parts,
    show,
    places,
    states,
    enter: createEnter(parts),
    identityUrl: parts.issuer,
    developerLifetimeSeconds: parts.lifetimes.developer,
    companyTries: parts.limiterOf('company', rates.address),
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
    ...companyHandlers(shared),
    ...personHandlers(shared),
    ...accountHandlers(shared),
    ...projectHandlers(shared),
    ...issuerHandlers(shared),
    ...tokenHandlers(shared),
    ...programSignInHandlers(shared),
    ...deviceRequestHandlers(shared),
    ...authorizationHandlers(shared),
    ...logoutHandlers(shared),
    ...deviceHandlers(shared),
    ...shareHandlers(shared),
    ...joinKeyHandlers(shared),
    ...mapHandlers(shared),
  }
  const callers = createCallers({ ...parts, site })
  addConsoleApi(app, { ...parts, callers, handlers, events })
  addSelectedPlaces(app, { ...parts, callers, places, states })
  addDeviceExport(app, {
    ...parts,
    beginExport: createAccountExports(maxDeviceExports),
    callers,
    show,
    states,
  })
  const showPage = addPages(app, parts.pages, site, originsOf(parts.map), parts.dpop.nonce)
  addAppPages(app, { ...parts, site, show: showPage })
  return { close: places.stop }
}
