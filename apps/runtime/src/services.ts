/** Images, containers, and the gateway to them: the part of the composition that is about services. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RpcError, readSettings } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import type { Listener } from '@selvedge/service-kit/http'
import { errorIdOf, type Log } from '@selvedge/service-kit/log'
import { type DocumentNotice, openDocument } from '@selvedge/service-kit/store'
import type { RuntimeConfig } from './config.ts'
import { type Containers, createContainers } from './containers/containers.ts'
import { createFailedNotice } from './containers/failed-notice.ts'
import { createContainerStorage } from './containers/storage.ts'
import { deploymentsFormat } from './deployments/deployments.ts'
import { idOf, ofAccount } from './deployments/ownership.ts'
import type { Engine, EngineReport } from './engines/engine.ts'
import { withNotice } from './engines/engine-notice.ts'
import { createFunctionEngine } from './engines/function/function-engine.ts'
import { createOciEngine } from './engines/oci/oci-engine.ts'
import { createAdmit } from './gateway/admit.ts'
import { createGateway } from './gateway/gateway.ts'
import { openHostSocket } from './gateway/host-socket.ts'
import { createRoutes } from './gateway/routes.ts'
import { createServiceIdentity } from './gateway/service-identity.ts'
import { openBlobs } from './images/blobs.ts'
import { type Images, openImages } from './images/images.ts'
import { mcmRoutes } from './mcm/routes.ts'
import type { Notices } from './node/notices.ts'
import { createRest, type Routes } from './rest/rest.ts'
import type { Authorize, ExpectStillValid } from './tokens/authorize.ts'
import type { LastingAnswers } from './tokens/lasting.ts'

export interface Services {
  readonly images: Images
  readonly containers: Containers
  /** What a person should know of the files of the deployments. */
  readonly notices: readonly DocumentNotice[]
  /** Answers `/mcm/v1/…` and requests for services. */
  readonly listener: Listener
  describeEngines(): Promise<Record<'function' | 'oci', EngineReport>>
  /** To be called when the associated account is another one. */
  followAccount(): Promise<void>
  /** Removes all that belongs to an account, which `leave` takes from the runtime. Resolves with what `leave` gives. */
  wipe<T>(accountId: string, leave: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface ServicesParts {
  readonly config: RuntimeConfig
  /** Folder of the runtime's own state. */
  readonly folder: string
  readonly nodeId: string
  readonly clock: Clock
  readonly log: Log
  readonly notices: Notices
  readonly authorize: Authorize
  readonly expectStillValid: ExpectStillValid
  readonly lasting: LastingAnswers
  /** The next DPoP nonce. */
  readonly nonce: () => string
  /** Called when containers came, changed or went. */
  readonly onChange: () => void
  readonly accountId: () => string
  /** What else is served beside images and containers. */
  readonly routes: readonly Routes[]
  /** URL of the runtime, once it listens. */
  readonly url: () => string
}

/** The bundled program that hosts functions, beside this one; from the sources, where it was built to. */
const functionProgram = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../dist/function-host.mjs' : './function-host.mjs',
    import.meta.url,
  ),
)

export async function openServices(parts: ServicesParts): Promise<Services> {
  const { config, folder, nodeId, clock, log, notices, authorize, expectStillValid } = parts
  const store = await openDocument(join(folder, 'deployments'), deploymentsFormat)
  const onInternalError = (cause: unknown) => errorIdOf(log, 'a request failed', { cause })

  const blobs = await openBlobs(join(folder, 'images'))
  const engines: Record<'function' | 'oci', Engine> = {
    function: withNotice(
      createFunctionEngine({ state: folder, program: functionProgram, blobs }),
      'function_engine_unavailable',
      notices,
    ),
    oci: withNotice(
      createOciEngine({ state: folder, socket: config['oci.socket'], blobs }),
      'oci_engine_unavailable',
      notices,
    ),
  }
  const noteFailed = createFailedNotice(store, notices, parts.accountId)
  noteFailed()
  const images = await openImages({
    folder: join(folder, 'images'),
    blobs,
    store,
    clock,
    reserve: config['images.reserve'],
    maxSize: config['images.maxSize'],
    authFile: config['images.registryAuth'],
    accountId: parts.accountId,
    onRemoved: (digest, kind) =>
      void engines[kind]
        .removeImage(digest)
        .catch((cause) => log.debug('an image is left in its engine', { digest, cause })),
  })
  const identity = createServiceIdentity(nodeId, clock)
  const routes = createRoutes(parts.accountId)
  const gateway = createGateway({
    routes,
    admit: createAdmit({ authorize, expectStillValid, identity }),
    lasting: parts.lasting,
    accountId: parts.accountId,
    now: () => performance.now(),
    nonce: parts.nonce,
    onInternalError,
  })
  const containers = createContainers({
    store,
    engines,
    storage: createContainerStorage(join(folder, 'storage.db')),
    clock,
    log,
    info: () => ({ httpPort: Number(new URL(parts.url()).port), nodeId, apiRoot: parts.url() }),
    hostFor: (key) => {
      const identityToken = (audience: string) => {
        const { [key]: own } = store.value.containers
        const others = own ? ofAccount(store.value.containers, own.accountId) : []
        if (!own || !others.some(([, other]) => idOf(other) === audience))
          throw new RpcError(
            'not_found',
            `there is no container ${JSON.stringify(audience.slice(0, 200))} to be known to`,
          )
        return identity.issue(
          { sub: idOf(own), client_id: own.clientId, account_id: own.accountId },
          audience,
        )
      }
      return {
        identityToken,
        serve: (path, { env }) =>
          openHostSocket(path, {
            identityToken,
            outbound: readSettings(env)['MCM.OUTBOUND'],
            gateway,
            isOwnUrl: (url) => isOwn(url, parts.url()),
          }),
      }
    },
    accountId: parts.accountId,
    onChange: () => {
      routes.refresh()
      noteFailed()
      parts.onChange()
      images.sweep().catch((cause) => log.warn('what images left could not be removed', { cause }))
    },
    onFailed: noteFailed,
    onNotRecovered: (details) => notices.raise('recovery_failed', details),
  })
  routes.follow(containers)
  const { lasting, nonce } = parts
  const rest = createRest({ authorize, expectStillValid, lasting, nonce, onInternalError }, [
    mcmRoutes({ images, containers, clock }),
    ...parts.routes,
  ])

  return {
    images,
    containers,
    notices: store.notices,
    listener: {
      request: (request, response) => {
        if (!rest(request, response)) gateway.handle(request, response)
      },
      upgrade: gateway.handleUpgrade,
    },
    describeEngines: async () => ({
      function: await engines.function.describe(),
      oci: await engines.oci.describe(),
    }),
    async followAccount() {
      await Promise.all([images.followAccount(), containers.followAccount()])
    },
    async wipe(accountId, leave) {
      const left = await containers.wipe(accountId, leave)
      await Promise.all([images.followAccount(), images.sweep()])
      return left
    },
    async close() {
      await containers.close()
      await Promise.all(Object.values(engines).map((engine) => engine.close()))
      gateway.close()
      await store.close()
    },
  }
}

/** A service may spell the loopback as it likes. */
const isOwn = ({ hostname, port }: URL, own: string): boolean =>
  port === new URL(own).port && ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
