/** The edge daemon. This is the composition root, where the features meet. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createDiscoveryClient, createIdentityClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import type { Methods } from '@selvedge/protocol'
import { createDispatcher } from '@selvedge/protocol/jsonrpc'
import { type CallContext, createLoadShedder, shedCalls } from '@selvedge/service-kit/http'
import type { Alarms, Service } from '@selvedge/service-kit/lifecycle'
import { errorIdOf, type Log } from '@selvedge/service-kit/log'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import { openDocument, storageRefusal } from '@selvedge/service-kit/store'
import { createDpopVerifier, createTokenVerifier } from '@selvedge/service-kit/tokens'
import { createAccount } from './account/account.ts'
import { openApiKey } from './api-key.ts'
import { createDiscoverySession } from './cloud/discovery-session.ts'
import { createEdgeTokens } from './cloud/edge-tokens.ts'
import { createLink } from './cloud/link.ts'
import { createRetry } from './cloud/retry.ts'
import { statedServices } from './cloud/stated-services.ts'
import { deviceName, type RuntimeConfig } from './config.ts'
import type { Containers } from './containers/containers.ts'
import { createGps } from './gps/gps.ts'
import { createPublisher } from './gps/publisher.ts'
import { followReceiver } from './gps/receiver.ts'
import { createHandlers, type RuntimeCallers } from './handlers.ts'
import { createHmac } from './hmac/hmac.ts'
import { limits } from './limits.ts'
import { createLinkLocal } from './link-local/start.ts'
import { openListeners, reachableAt } from './listeners.ts'
import { methodTable } from './method-table.ts'
import { showCertificate } from './node/certificate-notices.ts'
import { raiseDocumentNotices } from './node/document-notices.ts'
import { createGetMe } from './node/get-me.ts'
import { openNodeKey } from './node/node-key.ts'
import { createNotices } from './node/notices.ts'
import { openLastKnown } from './nodes/last-known.ts'
import { createNodes } from './nodes/nodes.ts'
import { nodesRoutes } from './nodes/routes.ts'
import { createLocationSharing } from './nodes/sharing.ts'
import { createOpenRpcDocuments } from './openrpc-documents.ts'
import { openServices } from './services.ts'
import { stateFormat } from './state.ts'
import { createDeviceClock } from './time/device-clock.ts'
import { createAuthorize } from './tokens/authorize.ts'
import { createLastingAnswers } from './tokens/lasting.ts'
import { createCheckProof } from './tokens/proof.ts'
import { createRevocations, openLists } from './tokens/revocations.ts'
import { openTenants } from './tokens/tenants.ts'

/** Maximum verified access tokens in the cache. */
const remembered = 1000
/** Milliseconds between two requests for new keys of the identity service. */
const keysInterval = 600_000
/** Milliseconds from a change of containers until it is reported: changes come in groups. */
const tellAfter = 1000
/** Milliseconds from the start to the first contact with the cloud. */
const contactAfter = 25
/** Milliseconds for which a crash is shown as a notice. */
const crashShownMs = 86_400_000

/**
 * Makes all parts first; what runs by itself (timers, sockets, discovery) starts after the last of them exists.
 *
 * @param alarms of the process; the runtime shows them as notices
 */
export async function startRuntime(config: RuntimeConfig, log: Log, alarms: Alarms): Promise<Service> {
  const folder = join(config.state, 'runtime')
  const [lists, state] = await Promise.all([
    openLists(folder),
    openDocument(join(folder, 'state'), stateFormat),
  ])
  const key = await openNodeKey(join(folder, 'node-key.json'), state.value.nodeId)
  const { nodeId } = key
  if (state.value.nodeId === '') await state.update((value) => ({ ...value, nodeId }))
  const clock = createDeviceClock(state.value.timeFloor)
  const admit = config.apiKey ? await openApiKey(join(config.state, 'api-key')) : undefined
  const name = deviceName(config)
  const notices = createNotices(clock, log)
  const crash = alarms.lastCrash()
  if (crash && clock.now() - crash.at < crashShownMs) notices.show('crashed', crash.errorId, crash.at)
  alarms.onUnhandled(({ errorId, at }) => notices.show('internal_failure', errorId, at))
  const shared = { key, name, state, clock, log }
  /** What later parts add: nothing runs here and nothing is served until then. */
  const own: { url: string; containers: Containers | undefined } = { url: '', containers: undefined }

  const fetch = createNodeFetch()
  const identityTo = (url: string) => createIdentityClient({ url, fetch, timeoutMs: 3000 })
  const identity = {
    url: config['identity.url'],
    link: createLink(clock),
    client: identityTo(config['identity.url']),
  }
  const discovery = {
    url: config['discovery.url'],
    link: createLink(clock),
    client: createDiscoveryClient({ url: config['discovery.url'], fetch, timeoutMs: 5000 }),
  }
  const issuers = config['identity.tenants'].length > 0 ? config['identity.tenants'] : [identity.url]
  const getJson = (url: string) => identityTo(new URL(url).origin).getJson(new URL(url).pathname)
  const tenants = openTenants({ ...shared, notices, issuers, cloud: identity.url, getJson })
  const tokens = createEdgeTokens({
    ...shared,
    nodeId,
    issuer: tenants.cloud,
    notices,
    ...identity,
    enrolmentCode: config['identity.enrolmentCode'],
    services: () => statedServices(own.containers?.summary() ?? []),
  })
  /** What serves here, by the path that leads to it. */
  const ownServices = () =>
    (own.containers?.routes() ?? []).flatMap(({ container, prefixes }) => {
      const [path] = prefixes
      return path === undefined ? [] : [{ name: container.name, path }]
    })
  const session = createDiscoverySession({
    ...shared,
    ...discovery,
    tokens,
    addresses: () => reachableAt(config, own.url),
    services: ownServices,
  })
  const publisher = createPublisher({ ...shared, ...discovery, session, notices })
  const linkLocal = createLinkLocal(config['linkLocal.enabled'], {
    nodeId,
    accountId: () => state.value.accountId,
    accountKey: () => {
      const { accountId, accountKey } = state.value
      return accountKey?.accountId === accountId ? accountKey.key : undefined
    },
    statement: () => ({ name, services: ownServices() }),
    interfaces: config['linkLocal.interfaces'],
    port: () => Number(new URL(own.url).port),
    now: clock.now,
    isTimeTrusted: () => clock.state() === 'trusted',
    log,
    notices,
  })
  const lastKnown = await openLastKnown(join(folder, 'nodes'), log)
  const nodes = createNodes({
    nodeId,
    state,
    clock,
    client: discovery.client,
    session,
    lastKnown,
    neighbours: linkLocal.neighbours,
  })
  const verifier = createTokenVerifier({ issuers: () => tenants.issuers, clock, remembered })
  const lasting = createLastingAnswers()
  tenants.onChange(() => inBackground('lasting.verify', lasting.verifyAll()))

  /** Enrols, reports the account and fetches keys, until all of it is done. */
  const contact = createRetry('cloud.contact', async () => {
    const keys = tenants.issuers.map((each) => each.refresh())
    const results = await Promise.allSettled([tokens.get(), ...keys])
    const isDone = results.every((each) => each.status === 'fulfilled' && each.value !== false)
    return isDone && state.value.report === null
  })
  const revocations = createRevocations({
    ...shared,
    notices,
    store: lists,
    nodeId,
    // The first list may be large, and the network slow.
    issuers: issuers.map((url) => ({
      issuer: url,
      client: createIdentityClient({ url, fetch, timeoutMs: 60_000 }),
    })),
    verifier: createTokenVerifier({ issuers: () => tenants.issuers, clock, remembered: 0 }),
    isTimeTrusted: () => clock.state() === 'trusted',
    interval: config['revocations.interval'],
    onOwnNode() {
      tokens.forget()
      contact.wake()
    },
  })
  // A nonce is valid for this process only: after a restart the first proof gets a new nonce.
  const dpop = createDpopVerifier(randomBytes(32), clock)

  const scheme = config['listen.tlsCert'] === '' ? 'http' : 'https'
  const checkProof = createCheckProof(dpop, scheme)
  const { authorize, expectStillValid } = createAuthorize({
    nodeId,
    clock,
    state,
    verifier,
    revocations,
    checkProof,
  })
  /** Reports to the registry which containers there are, a moment after a change. */
  let telling: NodeJS.Timeout | undefined
  const tellServices = () => {
    clearTimeout(telling)
    telling = setTimeout(safely('runtime.tellServices', sendServices), tellAfter)
  }
  function sendServices(): void {
    // If the identity service does not answer, the next contact reports it.
    tokens.report().catch(() => undefined)
    inBackground('publisher.restate', publisher.restate())
    linkLocal.restate()
  }
  const services = await openServices({
    config,
    folder,
    nodeId,
    clock,
    log,
    notices,
    authorize,
    expectStillValid,
    lasting,
    nonce: dpop.nonce,
    onChange: tellServices,
    accountId: () => state.value.accountId,
    routes: [nodesRoutes(nodes)],
    url: () => own.url,
  })
  const { images, containers } = services
  own.containers = containers
  raiseDocumentNotices(notices, { state, deployments: services, revocations: lists })

  const onAccountChange = () => {
    tokens.forget()
    contact.wake()
    // The registry has to know the account before the discovery service can accept the report.
    inBackground('account.follow', followAccount())
  }
  async function followAccount(): Promise<void> {
    await state.settled()
    session.restate()
    linkLocal.restate()
    await services.followAccount()
  }
  const account = createAccount(
    state,
    clock,
    onAccountChange,
    () => notices.has('account_differs') || notices.has('account_not_confirmed'),
  )
  tokens.onAccountRemoved((accountId) => {
    // Tokens issued in this second may postdate the removal; the list of revoked tokens contains those that do not.
    account
      .remove(accountId, Math.floor(clock.now() / 1000) - 1)
      .catch((cause) => log.error('the account could not be removed', { cause }))
  })

  const table = methodTable(config)
  const gps = createGps({
    state,
    clock,
    publisher,
    order: table.updateGps.params.map((each) => each.name),
    limits: { maxError: config['gps.maxError'], maxInterval: config['gps.maxInterval'] * 1000 },
  })
  const documentFor = createOpenRpcDocuments(Object.values(table))
  const shedder = createLoadShedder()
  const handlers = createHandlers({
    getMe: createGetMe({
      ...shared,
      nodeId,
      identity,
      discovery,
      notices: notices.list,
      supports: Object.keys(table),
      revocations: revocations.status,
    }),
    tokens,
    account,
    gps,
    nodes,
    sharing: createLocationSharing(state, clock, publisher.restate),
    hmac: createHmac({ ...shared, ...identity, tokens }),
    images,
    containers,
    describeEngines: services.describeEngines,
    wipe: services.wipe,
    document: () => documentFor(own.url).value,
  })
  const dispatcher = createDispatcher<Methods, RuntimeCallers, CallContext>({
    ...shedCalls<Methods, RuntimeCallers, CallContext>(shedder, {
      methods: table,
      handlers,
      ...(admit && { admit }),
    }),
    checks: {
      anyone: () => undefined,
      token: ({ name, access }, readParams, context) =>
        authorize(readParams().edgeAccessToken as string, access, context, name),
    },
    mirror: config['compat.flatGetMe'],
    limits,
    explain: storageRefusal,
    onInternalError: (method, cause) => errorIdOf(log, 'a method failed', { method, cause }),
  })
  const listeners = await openListeners(config, {
    dispatcher,
    shedder,
    openRpc: (url) => documentFor(url).text,
    others: services.listener,
    nonce: dpop.nonce,
    onUrl: (url) => {
      own.url = url
    },
    onCertificate: (status) => showCertificate(notices, status, clock.now()),
  })
  log.debug('ready', { url: own.url, nodeId })

  // The first callers come before the first words to the cloud, whose signature and connection take 8 ms.
  setTimeout(safely('cloud.contact', contact.wake), contactAfter)
  revocations.start()
  publisher.resume()
  linkLocal.start()
  const unfollow = followReceiver(config['gps.source'], gps, log, notices)
  inBackground('containers.resume', containers.resume())
  const lookForKeys = setInterval(safely('cloud.contact', contact.wake), keysInterval)

  return {
    ready: { url: own.url },
    async stop() {
      clearInterval(lookForKeys)
      clearTimeout(telling)
      unfollow()
      await Promise.all([
        listeners.close(),
        services.close(),
        publisher.stop(),
        contact.stop(),
        revocations.stop(),
        linkLocal.close(),
        lastKnown.close(),
      ])
      await state.close()
      log.debug('stopped')
    },
  }
}
