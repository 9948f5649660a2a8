import type { Methods, ResultOf } from '@selvedge/protocol'
import type { HandlersOf } from '@selvedge/protocol/jsonrpc'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import type { CallContext } from '@selvedge/service-kit/http'
import { shareRun } from '@selvedge/service-kit/share'
import type { Account } from '../device/account/account.ts'
import type { EdgeTokens } from '../device/cloud/edge-tokens.ts'
import type { Hmac } from '../device/hmac/hmac.ts'
import type { Join } from '../device/join/join.ts'
import type { Metering } from '../device/metering/metering.ts'
import type { Gps } from '../location/gps/gps.ts'
import type { Nodes } from '../location/nodes/nodes.ts'
import type { LocationSharing } from '../location/nodes/sharing.ts'
import type { Apps } from '../services/apps/apps.ts'
import type { Containers } from '../services/containers/containers.ts'
import type { Images } from '../services/images/images.ts'
import type { Schedules } from '../services/schedules/schedules.ts'
import type { ServiceSecrets } from '../services/secrets/service-secrets.ts'
import type { Subscriptions } from './events/subscriptions.ts'

export interface HandlerParts {
  readonly getMe: (context: CallContext) => object
  readonly tokens: EdgeTokens
  readonly account: Account
  readonly joining: Pick<Join, 'joinAccount'>
  readonly gps: Gps
  readonly nodes: Nodes
  readonly sharing: LocationSharing
  readonly hmac: Hmac
  readonly images: Images
  readonly containers: Containers
  readonly apps: Omit<Apps, 'forget' | 'get' | 'deployments' | 'dropSecrets' | 'dropConfigs'>
  readonly secrets: ServiceSecrets
  readonly schedules: Pick<Schedules, 'runNow'>
  readonly subscriptions: Subscriptions
  readonly metering: Pick<Metering, 'described'>
  readonly describeEngines: () => Promise<ResultOf<Methods['getEngines']>>
  /** Removes all that an account has on the device, and the account itself, with `leave`. */
  readonly wipe: <T>(accountId: string, leave: () => Promise<T>) => Promise<T>
  readonly document: () => object
}

/** The caller that a handler gets, by the kind that its method declares. */
export interface RuntimeCallers {
  readonly anyone: undefined
  readonly token: AccessClaims
}

/** One handler for each method. The dispatcher checks the caller against the method's declaration before the handler runs. */
export function createHandlers(parts: HandlerParts): HandlersOf<Methods, RuntimeCallers, CallContext> {
  const { tokens, account, gps, nodes, sharing, hmac, images, containers, apps, secrets, subscriptions } =
    parts
  return {
    getMe: (_params, _caller, context) => parts.getMe(context),
    getEdgeIdToken: async () => ({ id_token: await tokens.get() }),
    associateAccount: ({ edgeAccessToken }, caller) => account.associate(caller, edgeAccessToken),
    joinAccount: ({ joinKey }) => parts.joining.joinAccount(joinKey),
    unassociateAccount: ({ wipe }, caller) => {
      const leave = () => account.unassociate(caller)
      return wipe ? parts.wipe(caller.account_id, leave) : leave()
    },
    updateGps: (params) => gps.update(params),
    getGps: () => gps.last(),
    getNodes: ({ cluster, options }) => nodes.list(cluster, options),
    setLocationSharing: ({ audience, precision }) => sharing.set(audience, precision),
    getLocationSharing: () => sharing.get(),
    setLocationTrack: ({ until }) => sharing.setTrack(until),
    getLocationTrack: ({ options }) => nodes.track(options),
    getEdgeHmacCode: (params) => hmac.create(params),
    verifyEdgeHmacCode: (params, _, context) => hmac.verify(params, context),
    deployImage: ({ source, name, now }, caller) => images.deploy(caller, source, { name, now }),
    getImages: (_, caller) => images.list(caller),
    removeImage: ({ id }, caller) => images.remove(caller, id),
    deployContainer: ({ spec }, caller) => containers.deploy(caller, spec),
    getContainers: (_, caller) => containers.list(caller),
    startContainer: ({ id }, caller) => containers.start(caller, id),
    stopContainer: ({ id }, caller) => containers.stop(caller, id),
    redeployContainer: ({ id }, caller) => containers.redeploy(caller, id),
    removeContainer: ({ id }, caller) => containers.remove(caller, id),
    runScheduled: ({ id, cron }, caller) => parts.schedules.runNow(caller, id, cron),
    getContainerLogs: ({ id, tail }, caller) => ({ lines: containers.logs(caller, id).tail(tail) }),
    getContainerHistory: ({ id }, caller) => containers.history(caller, id),
    deployApp: ({ plan, secrets: values, pulls, deployment }, caller) =>
      apps.deploy(caller, plan, values, { pulls, deployment }),
    getApps: (_, caller) => apps.list(caller),
    startApp: ({ name }, caller) => apps.start(caller, name),
    stopApp: ({ name }, caller) => apps.stop(caller, name),
    redeployApp: ({ name }, caller) => apps.redeploy(caller, name),
    rollbackApp: ({ name }, caller) => apps.rollBack(caller, name),
    removeApp: ({ name }, caller) => apps.remove(caller, name),
    setSecret: ({ name, value, encoding }, caller) => secrets.set(caller, name, value, encoding),
    getSecrets: (_, caller) => secrets.list(caller),
    removeSecret: ({ name }, caller) => secrets.remove(caller, name),
    // Any caller may ask, and a batch holds a hundred calls.
    getEngines: shareRun(parts.describeEngines),
    getNetworkUse: () => parts.metering.described(),
    subscribe: (params, caller, context) => subscriptions.subscribe(params, caller, context),
    unsubscribe: ({ subscription }, _, context) => subscriptions.unsubscribe(subscription, context),
    'rpc.discover': parts.document,
  }
}
