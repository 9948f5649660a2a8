/** The local API, method by method. The order here is the order of the reference. */
import { deployApp, getApps, redeployApp, removeApp, rollbackApp, startApp, stopApp } from './apps.ts'
import { associateAccount } from './associate-account.ts'
import {
  deployContainer,
  getContainerHistory,
  getContainerLogs,
  getContainers,
  getEngines,
  redeployContainer,
  removeContainer,
  runScheduled,
  startContainer,
  stopContainer,
} from './containers.ts'
import { discover } from './discover.ts'
import { getEdgeIdToken } from './get-edge-id-token.ts'
import { getMe } from './get-me.ts'
import { getGps, updateGps } from './gps.ts'
import { getEdgeHmacCode, verifyEdgeHmacCode } from './hmac.ts'
import { deployImage, getImages, removeImage } from './images.ts'
import { joinAccount } from './join-account.ts'
import { getNetworkUse } from './network-use.ts'
import {
  getLocationSharing,
  getLocationTrack,
  getNodes,
  setLocationSharing,
  setLocationTrack,
} from './nodes.ts'
import { getSecrets, removeSecret, setSecret } from './secrets.ts'
import { subscribe, unsubscribe } from './subscribe.ts'
import { unassociateAccount } from './unassociate-account.ts'

export const methods = {
  getMe,
  getEdgeIdToken,
  associateAccount,
  joinAccount,
  unassociateAccount,
  updateGps,
  getGps,
  getNodes,
  setLocationSharing,
  getLocationSharing,
  setLocationTrack,
  getLocationTrack,
  getEdgeHmacCode,
  verifyEdgeHmacCode,
  deployImage,
  getImages,
  removeImage,
  deployContainer,
  getContainers,
  startContainer,
  stopContainer,
  redeployContainer,
  removeContainer,
  runScheduled,
  getContainerLogs,
  getContainerHistory,
  deployApp,
  getApps,
  startApp,
  stopApp,
  redeployApp,
  rollbackApp,
  removeApp,
  setSecret,
  getSecrets,
  removeSecret,
  getEngines,
  getNetworkUse,
  subscribe,
  unsubscribe,
  'rpc.discover': discover,
} as const

export type Methods = typeof methods
export type MethodName = keyof Methods
