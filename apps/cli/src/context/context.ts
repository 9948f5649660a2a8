/** The context of every command: clients of the services, configured from options, environment and state folder. */
import { hostname } from 'node:os'
import {
  createIdentityClient,
  createRpcClient,
  createRuntimeClient,
  type Fetch,
  type IdentityClient,
  type RpcClient,
  type RpcConnection,
  type RuntimeClient,
} from '@selvedge/client'
import { createNodeFetch, type StreamConnection } from '@selvedge/client/node'
import { identityPaths, version } from '@selvedge/protocol'
import { type AdminMethods, adminMethods } from '@selvedge/protocol/admin'
import { type AccountApiMethods, accountApiMethods } from '@selvedge/protocol/console'
import { createLeases, type StoredLeases } from '../login/leases.ts'
import { createSignIns, type SignIns } from '../login/sign-ins.ts'
import type { Terminal } from '../output/terminal.ts'
import { createWhyNoAnswer, type WhyNoAnswer } from '../production/why-no-answer.ts'
import { type BoundToken, createBoundToken } from './bound-token.ts'
import { configFolder } from './config-folder.ts'
import { confirming, createConfirm, type Unconfirmed } from './confirm.ts'
import { type Contexts, createContexts } from './contexts.ts'
import { createOwnNetwork } from './network.ts'
import {
  type Address,
  type Env,
  findAdmin,
  findRuntime,
  readKeyFile,
  readStateFolder,
  type StateFolder,
} from './runtime-address.ts'
import { type Selection, type SelectionFlags, select } from './selection.ts'
import { readServiceUrl } from './service-url.ts'
import { createFindService, type FindService } from './services.ts'
import { traced } from './trace.ts'

/** The identity service in use, and its URL. */
export interface Identity {
  readonly url: string
  readonly client: IdentityClient
}

export interface Context {
  readonly terminal: Terminal
  /** The environment of the program. */
  readonly env: Env
  readonly contexts: Contexts
  /** What the command is for. @throws UsageError */
  readonly selection: () => Selection
  /** @throws UsageError */
  readonly state: StateFolder
  readonly runtime: RuntimeClient
  /** The connection to the runtime, for methods that the table does not know. */
  readonly runtimeConnection: RpcConnection
  /** Whether the runtime is reached over its Unix socket. */
  readonly isLocal: () => boolean
  /**
   * The connection to the runtime for streams.
   *
   * @param newToken gets another token when this one is refused, such as after its expiry; absent: it ends then
   * @throws UsageError when the user has not confirmed the address
   */
  readonly streams: (edgeAccessToken: string, newToken?: () => Promise<string>) => Promise<StreamConnection>
  /** The identity service that was named, else that of the runtime. */
  readonly identity: () => Promise<Identity>
  /** The identity service that issued a sign-in. */
  readonly identityAt: (url: string) => IdentityClient
  /** The account at the identity service that issued a sign-in, with a developer ID token of it. */
  readonly accountAt: (url: string, developerIdToken: string) => RpcClient<AccountApiMethods>
  readonly findService: FindService
  readonly signIns: SignIns
  readonly leases: StoredLeases
  /** The local token of the command, if it works on a lease. */
  readonly bound: BoundToken
  readonly admin: RpcClient<AdminMethods>
  /** Unix seconds. */
  readonly now: () => number
  /** Why a URL does not answer 200; undefined: it does. */
  readonly whyNoAnswer: WhyNoAnswer
}

export interface ContextFlags extends SelectionFlags {
  readonly verbose?: boolean
}

/** @throws UsageError; what is wrong with an address is thrown when it is first used */
export function createContext(flags: ContextFlags, env: Env, terminal: Terminal): Context {
  const folder = configFolder(env)
  const contexts = createContexts(folder)
  const selection = once(() => select(flags, env, contexts))
  const state = once(() => readStateFolder(selection().flags.state, selection().env))
  // A mistake in an option is shown also where the command needs no address.
  if (flags.context !== undefined || flags.state !== undefined) state()
  const confirm = createConfirm(folder, terminal)
  const trace = (fetch: Fetch, socketPath?: string): Fetch =>
    flags.verbose ? traced(fetch, terminal, socketPath) : fetch
  const network = createOwnNetwork(env)
  // The person who approves a sign-in sees from which machine it came.
  const overTcp = trace(createNodeFetch({ userAgent: `selvedge/${version} on ${hostname()}`, network }))
  const guarded = (fetch: Fetch, unconfirmed: Unconfirmed | undefined): Fetch =>
    unconfirmed ? confirming(fetch, () => confirm(unconfirmed)) : fetch

  const fetchOf = ({ socketPath, shownPath, unconfirmed }: Address): Fetch =>
    guarded(
      socketPath === undefined ? overTcp : trace(createNodeFetch({ socketPath }), shownPath),
      unconfirmed,
    )
  const findRuntimeOnce = once(() => {
    const { apiKeyFile } = selection().context ?? {}
    const address = findRuntime(selection().flags, selection().env, state())
    return apiKeyFile === undefined ? address : { ...address, apiKey: readKeyFile(apiKeyFile) }
  })
  const bound = createBoundToken()
  const runtimeConnection = bound.connect(
    connectionTo(findRuntimeOnce, fetchOf, () => selection().env.SELVEDGE_API_KEY),
  )
  const runtime = createRuntimeClient(runtimeConnection)
  const findService: FindService = async (name) =>
    createFindService(selection().flags, selection().env, { client: runtime, address: findRuntimeOnce })(name)
  const identityAt = (url: string, unconfirmed?: Unconfirmed) =>
    createIdentityClient({
      url: readServiceUrl(url, 'the identity service'),
      fetch: guarded(overTcp, unconfirmed),
    })
  return {
    terminal,
    env,
    contexts,
    selection,
    get state() {
      return state()
    },
    runtime,
    runtimeConnection,
    isLocal: () => findRuntimeOnce().socketPath !== undefined,
    async streams(edgeAccessToken, newToken) {
      const address = findRuntimeOnce()
      if (address.unconfirmed) await confirm(address.unconfirmed)
      return streamsTo({ ...address, network }, { edgeAccessToken, newToken }, bound)
    },
    async identity() {
      const { url, unconfirmed } = await findService('identity')
      return { url, client: identityAt(url, unconfirmed) }
    },
    identityAt: (url) => identityAt(url),
    accountAt: accountOver(overTcp),
    findService,
    ...{ signIns: createSignIns(folder), leases: createLeases(folder), bound },
    admin: createRpcClient(
      adminMethods,
      connectionTo(
        once(() => findAdmin(state(), selection().context)),
        fetchOf,
      ),
    ),
    now: () => Math.floor(Date.now() / 1000),
    whyNoAnswer: createWhyNoAnswer(overTcp),
  }
}

const accountOver =
  (fetch: Fetch): Context['accountAt'] =>
  (url, apiKey) =>
    createRpcClient(accountApiMethods, {
      ...{ url: readServiceUrl(url, 'the identity service'), path: identityPaths.accountApi, fetch, apiKey },
    })

function streamsTo(
  { url, socketPath, network }: Address & Pick<StreamConnection, 'network'>,
  { edgeAccessToken, newToken }: { edgeAccessToken: string; newToken: (() => Promise<string>) | undefined },
  bound: BoundToken,
): StreamConnection {
  let current = { edgeAccessToken, prove: bound.prove() }
  return {
    ...{ url, network },
    ...(socketPath !== undefined && { socketPath }),
    get edgeAccessToken() {
      return current.edgeAccessToken
    },
    get prove() {
      return current.prove
    },
    ...(newToken && {
      async renew() {
        current = { edgeAccessToken: await newToken(), prove: bound.prove() }
      },
    }),
  } as StreamConnection
}

/** A connection that resolves its address on first use: many commands do not connect. */
function connectionTo(
  find: () => Address,
  fetchOf: (address: Address) => Fetch,
  apiKey: () => string | undefined = () => undefined,
): RpcConnection {
  const fetch = once(() => fetchOf(find()))
  return {
    get url() {
      return find().url
    },
    get apiKey() {
      return apiKey() || find().apiKey
    },
    fetch: async (url, init) => fetch()(url, init),
  } as RpcConnection
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}
