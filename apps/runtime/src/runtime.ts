/** The edge daemon. This is the composition root, where the features meet. */
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createDiscoveryClient, createIdentityClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { methods, openRpcDocument, rpcPath, version, withParamOrder } from '@selvedge/protocol'
import { createDispatcher } from '@selvedge/protocol/jsonrpc'
import { type CallContext, createRpcListener, listenTcp, listenUnix } from '@selvedge/service-kit/http'
import type { Service } from '@selvedge/service-kit/lifecycle'
import type { Log } from '@selvedge/service-kit/log'
import { openDocument } from '@selvedge/service-kit/store'
import { createTokenVerifier } from '@selvedge/service-kit/tokens'
import { createAccount } from './account/account.ts'
import { openApiKey } from './api-key.ts'
import { createEdgeTokens } from './cloud/edge-tokens.ts'
import { createLink } from './cloud/link.ts'
import { createRetry } from './cloud/retry.ts'
import { deviceName, type RuntimeConfig } from './config.ts'
import { createGps } from './gps/gps.ts'
import { createPublisher } from './gps/publisher.ts'
import { createHandlers } from './handlers.ts'
import { createHmac } from './hmac/hmac.ts'
import { createGetMe } from './node/get-me.ts'
import { openNodeKey } from './node/node-key.ts'
import { initialState, readState } from './state.ts'
import { createDeviceClock } from './time/device-clock.ts'
import { createAuthorize } from './tokens/authorize.ts'
import { openTenants } from './tokens/tenants.ts'

/** Limits of protocol.md § 1. */
const limits = { body: 1024 * 1024, depth: 32, batch: 100, requestSeconds: 30 }
/** Most access tokens that are remembered as good. */
const remembered = 1000
/** Milliseconds between two looks at the identity service for new keys. */
const keysInterval = 600_000

export async function startRuntime(config: RuntimeConfig, log: Log): Promise<Service> {
  const folder = join(config.state, 'runtime')
  await mkdir(config.state, { recursive: true, mode: 0o750 })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const state = await openDocument(join(folder, 'state'), initialState, readState)
  for (const notice of state.notices) log.warn(notice)
  const key = await openNodeKey(join(folder, 'node-key.json'), state.value.nodeId)
  const { nodeId } = key
  if (state.value.nodeId === '') await state.update((value) => ({ ...value, nodeId }))
  const clock = createDeviceClock(state.value.timeFloor)
  const admit = config.apiKey ? await openApiKey(join(config.state, 'api-key')) : undefined
  const name = deviceName(config)

  const fetch = createNodeFetch()
  const identity = { url: config['identity.url'], link: createLink(clock) }
  const discovery = { url: config['discovery.url'], link: createLink(clock) }
  const identityClient = createIdentityClient({ url: identity.url, fetch, timeoutMs: 3000 })
  const discoveryClient = createDiscoveryClient({ url: discovery.url, fetch, timeoutMs: 5000 })
  const tenants = openTenants({
    issuers: config['identity.tenants'].length > 0 ? config['identity.tenants'] : [identity.url],
    state,
    clock,
    log,
    getJson: (url) =>
      createIdentityClient({ url: new URL(url).origin, fetch, timeoutMs: 3000 }).getJson(
        new URL(url).pathname,
      ),
    onChange: () => verifier.clear(),
  })
  const verifier = createTokenVerifier({ issuers: () => tenants, clock, remembered })

  const enrolmentCode = config['identity.enrolmentCode']
  const tokens = createEdgeTokens({
    ...identity,
    key,
    name,
    enrolmentCode,
    client: identityClient,
    state,
    clock,
    log,
  })
  const publisher = createPublisher({ ...discovery, client: discoveryClient, key, tokens, state, clock, log })

  /** Enrols, reports the account and fetches keys, until all of it is done. */
  const contact = createRetry(async () => {
    const results = await Promise.allSettled([tokens.get(), ...tenants.map((each) => each.refresh())])
    return (
      results.every((each) => each.status === 'fulfilled' && each.value !== false) &&
      state.value.report === null
    )
  })
  const account = createAccount(state, clock, () => {
    tokens.forget()
    contact.wake()
  })

  const latitudeFirst = ['edgeAccessToken', 'latitude', 'longitude', 'speed', 'bearing']
  const updateGps =
    config['gps.positionalOrder'] === 'latitude-first'
      ? withParamOrder(methods.updateGps, latitudeFirst)
      : methods.updateGps
  const table = Object.values({ ...methods, updateGps })
  const document = (): object =>
    openRpcDocument(table, { title: 'Selvedge runtime', version, url: url + rpcPath })

  let told: { refusal: string | undefined; notices: readonly string[] } = {
    refusal: undefined,
    notices: state.notices,
  }
  const notices = () => {
    const refusal = tokens.notice()
    if (refusal !== told.refusal)
      told = { refusal, notices: [...state.notices, ...(refusal === undefined ? [] : [refusal])] }
    return told.notices
  }
  const dispatcher = createDispatcher<CallContext>({
    methods: table,
    handlers: createHandlers({
      getMe: createGetMe({
        nodeId,
        name,
        state,
        clock,
        identity: identity.link,
        discovery: discovery.link,
        notices,
        supports: table.map((each) => each.name),
      }),
      tokens,
      account,
      gps: createGps(
        state,
        clock,
        publisher,
        updateGps.params.map((each) => each.name),
      ),
      hmac: createHmac({ key, state, clock, url: identity.url, client: identityClient, tokens }),
      authorize: createAuthorize(nodeId, state, verifier),
      document,
    }),
    mirror: config['compat.flatGetMe'],
    limits,
    ...(admit && { admit }),
    onInternalError(method, cause) {
      const errorId = randomUUID()
      log.error('a method failed', { errorId, method, cause })
      return errorId
    },
  })

  const listenerFor = (port: number | undefined) => {
    const guard = { port, hosts: config['listen.hosts'], allowedOrigins: config.allowedOrigins }
    return createRpcListener({
      dispatcher,
      guard,
      maxBody: limits.body,
      openRpc: () => JSON.stringify(document()),
    })
  }
  const unix = await listenUnix(join(config.state, 'runtime.sock'), 0o660, limits, listenerFor(undefined))
  const tls =
    config['listen.tlsCert'] === ''
      ? {}
      : { tls: { cert: config['listen.tlsCert'], key: config['listen.tlsKey'] } }
  const tcp = await listenTcp({
    addresses: config['listen.addresses'],
    port: config['listen.port'],
    ...tls,
    authenticated: config.apiKey,
    limits,
    listener: listenerFor,
  }).catch(async (cause) => {
    await unix.close()
    throw cause
  })
  const url: string = `${tcp.secure ? 'https' : 'http'}://127.0.0.1:${tcp.port}`
  log.debug('ready', { url, nodeId })

  contact.wake()
  publisher.resume()
  const lookForKeys = setInterval(() => contact.wake(), keysInterval)

  return {
    ready: { url },
    async stop() {
      clearInterval(lookForKeys)
      await Promise.all([tcp.close(), unix.close(), publisher.stop(), contact.stop()])
      await state.close()
      log.debug('stopped')
    },
  }
}
