/**
 * The device itself: its key and its state, its time, the account that it belongs to, its tokens, and its link to the identity service.
 *
 * All other groups depend on it. It must not know where the device is, what runs on it, or how it is called: the other
 * groups use {@link Presence} and {@link Device.onAccountChange} for that.
 */
import { join } from 'node:path'
import { createIdentityClient, type IdentityClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { identityCheckSeconds } from '@selvedge/protocol'
import { localTokenPath } from '@selvedge/protocol/tokens'
import type { Alarms } from '@selvedge/service-kit/lifecycle'
import type { Log } from '@selvedge/service-kit/log'
import type { Network } from '@selvedge/service-kit/network'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import { createLearned, type DocumentNotice, type Learned, openDocument } from '@selvedge/service-kit/store'
import { tracedFetch } from '@selvedge/service-kit/trace'
import { deviceName, type RuntimeConfig } from '../config.ts'
import { type Account, createAccount } from './account/account.ts'
import { createEdgeTokens, type EdgeTokens } from './cloud/edge-tokens.ts'
import { createLink, type Link } from './cloud/link.ts'
import { createRetry, type Retry } from './cloud/retry.ts'
import { createServiceReports } from './cloud/service-reports.ts'
import { createHmac, type Hmac } from './hmac/hmac.ts'
import { findJoinKey } from './join/find-key.ts'
import { openGivenKey } from './join/given-key.ts'
import { createJoin, type Join } from './join/join.ts'
import { openUsedKeys } from './join/used-keys.ts'
import { type LeaseStore, openLeaseRecord } from './leases/lease-record.ts'
import { createLeases, type Leases } from './leases/leases.ts'
import { createLocalTokens, type LocalTokens } from './leases/local-tokens.ts'
import { serialNumber } from './machine/this-machine.ts'
import type { Measures } from './measures.ts'
import { type Metering, openMetering } from './metering/metering.ts'
import { createNetworkNotice } from './node/network-notice.ts'
import { type NodeKey, openNodeKey } from './node/node-key.ts'
import { createNotices, type Notices } from './node/notices.ts'
import { createPresence, type Presence } from './presence.ts'
import { createSignals, type Signals, signalling } from './signals.ts'
import { type RuntimeState, type StateStore, stateFormat } from './state.ts'
import { createDeviceClock, type DeviceClock } from './time/device-clock.ts'
import { listLimitMs, requestLimitMs, waitLimitMs } from './time-limits.ts'
import { type Callers, type CallersParts, openCallers } from './tokens/callers.ts'
import { openLists } from './tokens/revocations.ts'
import { openTenants, type Tenants } from './tokens/tenants.ts'
import { createVitals, type Vitals } from './vitals/vitals.ts'

/** What identifies the device, from its files. */
interface Self {
  /** The folder of the runtime's own state. */
  readonly folder: string
  readonly key: NodeKey
  readonly nodeId: string
  readonly name: string
  readonly state: StateStore
  /** For what the state learns from outside. */
  readonly learned: Learned<RuntimeState>
  readonly clock: DeviceClock
  readonly notices: Notices
  readonly signals: Signals
  readonly log: Log
  readonly measures: Measures
  /** How other machines are reached. */
  readonly network: Network
  readonly metering: Metering
  /** Joins an account by a join key. */
  readonly joining: Join
}

export interface Device extends Self {
  readonly identity: { readonly url: string; readonly link: Link }
  /** What a person should know of the files of the device. */
  readonly documents: Readonly<
    Record<'state' | 'revocations' | 'leases', { readonly notices: readonly DocumentNotice[] }>
  >
  readonly presence: Presence
  readonly tokens: EdgeTokens
  readonly account: Account
  readonly hmac: Hmac
  readonly callers: Callers
  readonly leases: Leases
  /** @param follow called when the account of the device changed, and that is on the disk */
  onAccountChange(follow: () => void | Promise<void>): void
  /** Begins to talk to the identity service. */
  start(): void
  /** Ends what runs. The state stays open for the parts that still write. */
  stop(): Promise<void>
  close(): Promise<void>
}

/** Milliseconds between two requests for new keys of the identity service. */
const keysIntervalMs = identityCheckSeconds * 1000
/** Milliseconds from the start to the first contact with the cloud: its signature and connection take 8 ms, and the first callers come first. */
const contactAfterMs = 25
/** Milliseconds for which a crash is shown as a notice. */
const crashShownMs = 86_400_000

/** @param alarms of the process; the device shows them as notices */
export async function openDevice(
  config: RuntimeConfig,
  { alarms, ...machine }: Pick<Self, 'log' | 'measures' | 'network'> & { readonly alarms: Alarms },
): Promise<Device> {
  const folder = join(config.state, 'runtime')
  let contactAgain = (): void => undefined
  const [lists, self, record] = await Promise.all([
    openLists(folder),
    openSelf(folder, config, machine),
    openLeaseRecord(folder),
  ])
  showCrashes(self, alarms)

  const clientFor = openClients(machine)
  const presence = createPresence(config['listen.addresses'])
  const vitals = createVitals({ ...self, presence, isEnabled: config['telemetry.enabled'] })
  const { tenants, tokens, identity, reportLeases, reports } = connectIdentity(
    config,
    { ...self, presence, vitals },
    clientFor,
    () => contactAgain(),
  )
  const contact = createContact(self, tenants, tokens, identity)
  contactAgain = contact.wakeIfIdle
  const renew = () => renewTokens(tokens, contact)
  const local = createLocalTokens(self.nodeId, self.clock)
  const callers = openOwnCallers(config, self, {
    ...{ tenants, lists, ownTokens: local, onOwnNode: renew },
    clientFor: (issuer) => clientFor(issuer, listLimitMs),
  })
  const leases = openLeases(config, self, { ...callers, record, local, presence, tokens })
  reportLeases(leases)
  vitals.followRevocations(callers.revocations.status)
  const followers: (() => void | Promise<void>)[] = []
  const account = openAccount(self, tokens, () => {
    renew()
    // The registry has to know the account before the discovery service can accept the report.
    inBackground('account.follow', followAccount())
  })
  async function followAccount(): Promise<void> {
    await self.state.settled()
    for (const follow of followers) await follow()
  }
  // If the identity service does not answer, the contact begins again, and reports the services.
  presence.onServicesChange(() => void tokens.report().catch(() => undefined))
  const wake = safely('cloud.contact', contact.wake)
  let lookForKeys: NodeJS.Timeout | undefined

  return {
    ...self,
    identity,
    documents: { state: self.state, revocations: lists, leases: record },
    presence,
    tokens,
    account,
    hmac: createHmac({ ...self, ...identity, tokens, client: clientFor(identity.url, waitLimitMs) }),
    callers,
    leases,
    onAccountChange: (follow) => void followers.push(follow),
    start() {
      setTimeout(wake, contactAfterMs)
      lookForKeys = setInterval(wake, keysIntervalMs)
      callers.revocations.start()
    },
    async stop() {
      clearInterval(lookForKeys)
      for (const each of [presence, reports, vitals]) each.close()
      await Promise.all([contact.stop(), callers.revocations.stop(), self.joining.stop()])
      await Promise.all([tenants.stop(), leases.stop(), self.learned.stop()])
    },
    close: () => closeAll(self, record),
  }
}

async function openSelf(
  folder: string,
  config: RuntimeConfig,
  { log, measures, network }: Pick<Self, 'log' | 'measures' | 'network'>,
): Promise<Self> {
  const signals = createSignals()
  const document = await openDocument(join(folder, 'state'), stateFormat)
  const state = signalling(measures.document('state', document), () => signals.send('state'))
  const key = await openNodeKey(join(folder, 'node-key.json'), state.value.nodeId)
  const { nodeId } = key
  if (state.value.nodeId === '') await state.update((value) => ({ ...value, nodeId }))
  const clock = createDeviceClock(state.value.timeFloor)
  const notices = createNotices(clock, log, () => signals.send('notices'))
  const learned = createLearned(state, { where: 'state.learned', log })
  const given = openGivenKey(folder)
  const joining = createJoin({
    ...{ state, notices, log, given, used: await openUsedKeys(folder), serial: serialNumber() },
    found: findJoinKey({
      given: given.path,
      value: config['identity.joinKey'],
      file: config['identity.joinKeyFile'],
      credentials: process.env.CREDENTIALS_DIRECTORY,
    }),
  })
  return {
    folder,
    key,
    nodeId,
    name: deviceName(config),
    state,
    learned,
    clock,
    notices,
    signals,
    log,
    measures,
    network,
    metering: await openOwnMetering(folder, config, { network, clock, log }),
    joining,
  }
}

const openOwnMetering = (
  folder: string,
  config: RuntimeConfig,
  { clock, ...parts }: Pick<Self, 'network' | 'clock' | 'log'>,
): Promise<Metering> =>
  openMetering(
    folder,
    config['network.metered'],
    {
      dayBytes: config['network.dayBudget'],
      monthBytes: config['network.monthBudget'],
      windows: config['network.downloadTimes'],
    },
    { ...parts, now: clock.now },
  )

const openOwnCallers = (
  config: RuntimeConfig,
  self: Self,
  parts: Omit<CallersParts, 'intervalSeconds' | 'overTls' | keyof Self>,
): Callers =>
  openCallers({
    ...self,
    ...parts,
    intervalSeconds: config['revocations.interval'],
    overTls: config['listen.tlsCert'] !== '',
  })

function renewTokens(tokens: EdgeTokens, contact: Retry): void {
  tokens.forget()
  contact.wake()
}

function openLeases(
  config: RuntimeConfig,
  self: Self,
  parts: Callers & {
    readonly record: LeaseStore
    readonly local: LocalTokens
    readonly presence: Presence
    readonly tokens: EdgeTokens
  },
): Leases {
  const { presence, tokens } = parts
  return createLeases({
    ...self,
    ...parts,
    maxListAgeDays: config['offline.maxListAgeDays'],
    url: () => presence.url() + localTokenPath,
    // If it fails, the next confirmed list starts it again.
    onUnreported: () => void tokens.report().catch(() => undefined),
  })
}

function openClients(machine: Pick<Self, 'network'>): (url: string, timeoutMs: number) => IdentityClient {
  const fetch = tracedFetch('identity', createNodeFetch({ network: machine.network.for('identity') }))
  return (url, timeoutMs) => createIdentityClient({ url, fetch, timeoutMs })
}

const closeAll = async ({ state, metering }: Self, record: LeaseStore): Promise<void> =>
  void (await Promise.all([state.close(), record.close(), metering.close()]))

function showCrashes({ notices, clock }: Self, alarms: Alarms): void {
  const crash = alarms.lastCrash()
  if (crash && clock.now() - crash.at < crashShownMs) notices.show('crashed', crash.errorId, crash.at)
  alarms.onUnhandled(({ errorId, at }) => notices.show('internal_failure', errorId, at))
}

/**
 * The issuers that the device trusts, and its own tokens from the identity service.
 *
 * @param onAway called after a request to the identity service failed
 */
function connectIdentity(
  config: RuntimeConfig,
  self: Self & { readonly presence: Presence; readonly vitals: Vitals },
  clientFor: (url: string, timeoutMs: number) => IdentityClient,
  onAway: () => void,
) {
  const url = config['identity.url']
  const showNetwork = createNetworkNotice(self.network, self.notices)
  const onLink = () => {
    self.signals.send('links')
    showNetwork()
    if (identity.link.status().reachable === false) onAway()
  }
  const identity = {
    url,
    link: createLink(self.clock, onLink),
    client: clientFor(url, requestLimitMs),
  }
  const issuers = config['identity.tenants'].length > 0 ? config['identity.tenants'] : [url]
  const getJson = (from: string) =>
    clientFor(new URL(from).origin, requestLimitMs).getJson(new URL(from).pathname)
  const tenants = openTenants({ ...self, issuers, cloud: url, getJson })
  let leases: Leases | undefined
  const reports = createServiceReports({ stated: self.presence.stated, isScarce: self.metering.isScarce })
  const tokens = createEdgeTokens({
    ...self,
    ...identity,
    issuer: tenants.cloud,
    enrolmentCode: config['identity.enrolmentCode'],
    services: reports.stated,
    vitals: self.vitals.state,
    leases: () => leases,
    withJoinKey: self.joining.wrap,
  })
  self.signals.follow((signal) => signal === 'containers' && reports.changed(tokens.report))
  const reportLeases = (of: Leases) => {
    leases = of
  }
  return { tenants, tokens, identity, reportLeases, reports }
}

/** Enrols, reports the account and fetches keys, until all of it is done and the identity service can be reached. */
const createContact = (
  { state, network }: Self,
  tenants: Tenants,
  tokens: EdgeTokens,
  { url, link }: Device['identity'],
): Retry =>
  createRetry(
    'cloud.contact',
    async () => {
      const keys = tenants.issuers.map((each) => each.refresh())
      // A token of the cache is no sign of a service that was away.
      const token = link.status().reachable === false ? tokens.report() : tokens.get('', 'background')
      const results = await Promise.allSettled([token, ...keys])
      const isDone = results.every((each) => each.status === 'fulfilled' && each.value !== false)
      return isDone && state.value.report === null
    },
    {
      reaches: () => network.reaches(url),
      onReturn: () => network.for('identity').renew('all'),
      onThere: () => network.for('identity').renew('reused'),
    },
  )

function openAccount(self: Self, tokens: EdgeTokens, onChange: () => void): Account {
  const { state, clock, notices, log, joining } = self
  const isDisputed = () => notices.has('account_differs') || notices.has('account_not_confirmed')
  const changed = () => {
    onChange()
    joining.accountChanged()
  }
  const account = createAccount(state, clock, changed, isDisputed)
  joining.connect({ account, again: tokens.report })
  tokens.onAccountRemoved((accountId) => {
    // Tokens issued in this second may postdate the removal; the list of revoked tokens contains those that do not.
    account
      .remove(accountId, Math.floor(clock.now() / 1000) - 1)
      .catch((cause) => log.error('the account could not be removed', { cause }))
  })
  return account
}
