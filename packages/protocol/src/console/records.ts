/** What the console shows. */
import * as z from 'zod'
import { appAudiences, appTypes } from '../http/identity.ts'
import { isoTime } from '../methods/values.ts'
import { leaseDays, leaseScopes } from '../tokens/leases.ts'
import { appIdAlgorithms } from '../tokens/profiles.ts'
import { scopeNames } from '../tokens/scopes.ts'
import { deviceVitals } from '../tokens/vitals.ts'

export const role = z.enum(['owner', 'member'])

const membership = z.object({ accountId: z.string(), name: z.string(), role })

/** The signed-in person. */
export const viewer = z.object({
  personId: z.string(),
  email: z.string(),
  accountId: z.string(),
  accounts: z.array(membership),
  role,
  /** When the person last signed in or confirmed the sign-in. */
  authTime: isoTime,
  /** Domain of the company that the session came from; null: a local sign-in. */
  company: z.string().nullable(),
  hasPassword: z.boolean(),
  passkeys: z.number().int(),
  /** Recovery codes that are left. */
  recoveryCodes: z.number().int(),
  /** Whether the person has had recovery codes, be they used by now. */
  hadRecoveryCodes: z.boolean(),
  /** Developer tokens of the person that programs use and that expire within a week, with nothing in their place. */
  expiringTokens: z.object({ count: z.number().int(), firstAt: isoTime.nullable() }),
})
export type Viewer = z.infer<typeof viewer>

export const session = z.object({
  sessionId: z.string(),
  isCurrent: z.boolean(),
  method: z.string(),
  createdAt: isoTime,
  lastSeenAt: isoTime,
  address: z.string(),
  userAgent: z.string(),
})

export const passkey = z.object({
  credentialId: z.string(),
  name: z.string(),
  createdAt: isoTime,
  lastUsedAt: isoTime.nullable(),
})

export const member = z.object({ personId: z.string(), email: z.string(), role, joinedAt: isoTime })

/** A link with which one person may join the account. */
export const invitation = z.object({
  linkId: z.string(),
  role,
  /** E-mail address of the owner who made it. */
  madeBy: z.string(),
  createdAt: isoTime,
  expiresAt: isoTime,
})

export const dpopPolicy = z.enum(['off', 'optional', 'required'])

/** The leases of a project. `maxDays` 0, or no scopes: it has no leases. */
export const projectLeases = z.object({
  maxDays: z.number().int().min(0).max(leaseDays.max),
  scopes: z.array(z.enum(leaseScopes)).max(leaseScopes.length),
})

export const project = z.object({
  clientId: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(scopeNames)),
  resources: z.array(z.string()),
  active: z.boolean(),
  createdAt: isoTime,
  /** Seconds. */
  accessLifetime: z.number().int(),
  developerLifetime: z.number().int(),
  dpop: dpopPolicy,
  offline: projectLeases,
  appType: z.enum(appTypes),
  /** The people who may sign in to the app. */
  appUsers: z.enum(appAudiences),
  redirectUris: z.array(z.string()),
  postLogoutRedirectUris: z.array(z.string()),
  /** Origins of pages that may call the endpoints of tokens (CORS). */
  origins: z.array(z.string()),
  idTokenSignedResponseAlg: z.enum(appIdAlgorithms),
})
export type ConsoleProject = z.infer<typeof project>

/** What is deleted or revoked together with a project. */
export const dependents = z.object({
  developerTokens: z.number().int(),
  signIns: z.number().int(),
  services: z.array(z.object({ nodeId: z.string(), nodeName: z.string(), id: z.string() })),
})

export const developerToken = z.object({
  jti: z.string(),
  clientId: z.string(),
  projectName: z.string(),
  madeBy: z.string(),
  issuedAt: isoTime,
  expiresAt: isoTime,
  lastUsedAt: isoTime.nullable(),
  revokedAt: isoTime.nullable(),
})

export const signIn = z.object({
  sid: z.string(),
  clientId: z.string(),
  projectName: z.string(),
  email: z.string(),
  described: z.string(),
  scope: z.string(),
  createdAt: isoTime,
  lastUsedAt: isoTime,
  expiresAt: isoTime,
})

/** The last location of a device. */
export const deviceFix = z.object({
  longitude: z.number(),
  latitude: z.number(),
  /** m/s and degrees. */
  speed: z.number(),
  bearing: z.number(),
  fixedAt: isoTime,
})

export const deviceState = z.enum(['online', 'away', 'blocked'])

/** A word or `key:value`: lower-case letters and digits, and `. _ - /` between them. */
export const deviceTag = z
  .string()
  .max(64)
  .toLowerCase()
  .regex(/^[a-z\d](?:[\w./-]*[a-z\d])?(?::[a-z\d](?:[\w./-]*[a-z\d])?)?$/)

export const device = z.object({
  nodeId: z.string(),
  /** As the device states it. */
  name: z.string(),
  /** As a person named it; "" without one. It is shown in place of `name`. */
  label: z.string(),
  tags: z.array(z.string()),
  version: z.string(),
  state: deviceState,
  enrolledAt: isoTime,
  lastSeenAt: isoTime,
  blockedAt: isoTime.nullable(),
  services: z.array(z.object({ id: z.string(), name: z.string(), image: z.string(), state: z.string() })),
  fix: deviceFix.nullable(),
})
export type Device = z.infer<typeof device>

/** What a device states about itself, and when this service heard it. */
export const vitals = deviceVitals.extend({ statedAt: isoTime })
export type Vitals = z.infer<typeof vitals>

/**
 * What a device needs a person for: a service that failed and is not started again, a file system with less than a tenth free, a clock that
 * is not known, or a TLS certificate that expires.
 */
export const deviceNeed = z.enum(['failing', 'disk', 'clock', 'certificate'])
export type DeviceNeed = z.infer<typeof deviceNeed>

/** What needs a person in an account. */
export const deviceAttention = z.object({
  /** Devices of the account, and how many of them are away. */
  total: z.number().int(),
  away: z.number().int(),
  /** When a device of the account was last seen; null without devices. */
  lastSeenAt: isoTime.nullable(),
  /** Devices with each need, as they stated it last. */
  needs: z.record(deviceNeed, z.number().int()),
})
export type DeviceAttention = z.infer<typeof deviceAttention>

/**
 * One difference between what a device stated before and after: `started` (the device itself), `returned` (`before`: when it was last seen
 * until then), `version`, `service` and `restart` (`subject`: its name), `notice` (`subject`: its reason, `after`: its error ID).
 */
export const deviceEvent = z.object({
  id: z.string(),
  at: isoTime,
  kind: z.enum(['started', 'returned', 'version', 'service', 'restart', 'notice']),
  subject: z.string(),
  /** State, version or number of restarts; "" for a service that was deployed. */
  before: z.string(),
  /** The same afterwards; "" for a service that was removed. */
  after: z.string(),
  /** Why the service exited, as `lastEnd` of the vitals; "" if it did not. */
  reason: z.string(),
})
export type DeviceEvent = z.infer<typeof deviceEvent>

/** An entry of the history of a device, in plain words: of an event, or of what a person did to it. */
export const deviceHistoryEntry = z.object({
  id: z.string(),
  at: isoTime,
  kind: z.enum([...deviceEvent.shape.kind.options, 'change']),
  tone: z.enum(['good', 'warn', 'bad', '']),
  text: z.string(),
  /** Why, what it was before, or the next step; "" without. */
  about: z.string(),
})
export type DeviceHistoryEntry = z.infer<typeof deviceHistoryEntry>

const facetList = z.object({
  /** The most frequent first. */
  values: z.array(z.object({ value: z.string(), count: z.number().int() })),
  /** Whether there are other values, or devices that were not counted. */
  isCut: z.boolean(),
})

/** What the devices of an account can be filtered by. */
export const deviceFacets = z.object({ tag: facetList, service: facetList, version: facetList })
export type DeviceFacets = z.infer<typeof deviceFacets>

/** What became of a change of several devices. */
export const bulkResult = z.object({
  /** Node IDs of the devices that were changed. */
  done: z.array(z.string()),
  /** Devices that were not changed, and why. */
  failed: z.array(z.object({ nodeId: z.string(), reason: z.string(), message: z.string() })),
})
export type BulkResult = z.infer<typeof bulkResult>

export const auditRecord = z.object({
  id: z.string(),
  at: isoTime,
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  address: z.string(),
  outcome: z.enum(['ok', 'refused']),
  detail: z.string(),
})
export type AuditRecord = z.infer<typeof auditRecord>

/** A sign-in from a terminal that waits for a decision. */
export const deviceRequest = z.object({
  userCode: z.string(),
  clientId: z.string(),
  clientName: z.string(),
  scopes: z.array(z.object({ name: z.string(), meaning: z.string() })),
  address: z.string(),
  userAgent: z.string(),
  createdAt: isoTime,
  /** Whether the request came from the same address as the person who decides on it. */
  isFromHere: z.boolean(),
})

/** The request of an app, for the person who decides. */
const consent = z.object({
  appName: z.string(),
  /** Account of the project. */
  appAccount: z.string(),
  /** Whether the app is one of the account that signs in. */
  isOwn: z.boolean(),
  /** Account that the app will act for. */
  accountName: z.string(),
  /** Destination of the browser: host of a page, or scheme of a program. */
  returnsTo: z.string(),
  scopes: z.array(z.object({ name: z.string(), meaning: z.string() })),
  /** The device that the tokens are for; null without one. */
  device: z.object({ nodeId: z.string(), name: z.string(), isNew: z.boolean() }).nullable(),
  /** Why the person cannot approve; null if the person can. */
  obstacle: z.string().nullable(),
})
export type Consent = z.infer<typeof consent>

/** What happens next with the request of an app. */
export const authorizationStep = z.discriminatedUnion('step', [
  /** The browser is redirected to the app. */
  z.object({ step: z.literal('return'), to: z.string(), appName: z.string() }),
  z.object({ step: z.literal('sign_in'), ticket: z.string(), loginHint: z.string() }),
  z.object({ step: z.literal('consent'), ticket: z.string(), consent }),
  /** The request cannot be answered to the app: client or redirect URI are wrong. */
  z.object({ step: z.literal('refused'), reason: z.string() }),
])
export type AuthorizationStep = z.infer<typeof authorizationStep>

/** A request of an app to sign a person out (OpenID Connect RP-Initiated Logout 1.0). */
export const logoutRequest = z.object({
  /** "" without an ID token of the app. */
  appName: z.string(),
  /** Destination of the browser; null: the page of the console stays. */
  returnTo: z.string().nullable(),
  /** Why the request is refused; null if it is not. */
  obstacle: z.string().nullable(),
})
export type LogoutRequest = z.infer<typeof logoutRequest>
