/** Every command, in the order of the help. */
import { alias, type CommandDeclaration } from '../command.ts'
import { accountAssociate } from './account/associate.ts'
import { accountShow } from './account/show.ts'
import { accountUnassociate } from './account/unassociate.ts'
import {
  adminAccountCreate,
  adminAccountLink,
  adminAccountList,
  adminAccountRevoke,
  adminLinkList,
  adminLinkRevoke,
} from './admin/accounts.ts'
import { adminCompanyAdd, adminCompanyList, adminCompanyRemove, adminCompanyTest } from './admin/companies.ts'
import {
  adminIssuerAdd,
  adminIssuerLink,
  adminIssuerList,
  adminIssuerRemove,
  adminIssuerRevoke,
  adminIssuerTest,
  adminIssuerUnlink,
} from './admin/issuers.ts'
import { adminKeysList, adminKeysRotate } from './admin/keys.ts'
import { adminEnrolmentCreate, adminNodeBlock, adminNodeList, adminNodeUnblock } from './admin/nodes.ts'
import {
  adminProjectCreate,
  adminProjectDisable,
  adminProjectList,
  adminProjectOffline,
  adminProjectUpdate,
} from './admin/projects.ts'
import { adminStoreCopy } from './admin/store.ts'
import { adminStoreBackup, adminStoreNoteBackup, adminStoreRestore } from './admin/store-backup.ts'
import { adminTokenDeveloper, adminTokenList, adminTokenRevoke } from './admin/tokens.ts'
import { appChanges } from './app/change.ts'
import { appList } from './app/list.ts'
import { appRemove } from './app/remove.ts'
import { call } from './call.ts'
import { completion } from './completion.ts'
import { composeCheck } from './compose/check.ts'
import { containerChanges } from './container/change.ts'
import { containerDeploy } from './container/deploy.ts'
import { containerList } from './container/list.ts'
import { containerLogs } from './container/logs.ts'
import { containerRun } from './container/run.ts'
import { containerWait } from './container/wait.ts'
import { contextAdd } from './context/add.ts'
import { contextList } from './context/list.ts'
import { contextRemove, contextUse } from './context/use.ts'
import { curl } from './curl.ts'
import { deploy } from './deploy.ts'
import { dev } from './dev.ts'
import { deviceAdopt } from './device/adopt.ts'
import { devicePrepareImage } from './device/prepare-image.ts'
import { doctor } from './doctor.ts'
import { gpsFollow } from './gps/follow.ts'
import { gpsShow } from './gps/show.ts'
import { gpsUpdate } from './gps/update.ts'
import { hmacCreate } from './hmac/create.ts'
import { hmacVerify } from './hmac/verify.ts'
import { imageDeploy } from './image/deploy.ts'
import { imageList } from './image/list.ts'
import { imagePack } from './image/pack.ts'
import { imageRemove } from './image/remove.ts'
import { init } from './init.ts'
import { joinKeyCreate, joinKeyList, joinKeyRevoke } from './join/keys.ts'
import { joinApprove, joinRefuse, joinWaiting } from './join/waiting.ts'
import { redeploy } from './lifecycle/redeploy.ts'
import { restart } from './lifecycle/restart.ts'
import { start } from './lifecycle/start.ts'
import { stop } from './lifecycle/stop.ts'
import { locationShare, locationShow } from './location/share.ts'
import { locationTrack } from './location/track.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { me } from './me.ts'
import { nodes } from './nodes.ts'
import { open } from './open.ts'
import { secretList } from './secret/list.ts'
import { secretRemove } from './secret/remove.ts'
import { secretSet } from './secret/set.ts'
import { serviceInstall } from './service/install.ts'
import { serviceLogs } from './service/logs.ts'
import { servicePodman } from './service/podman.ts'
import { serviceStatus } from './service/status.ts'
import { groupAdd, groupCreate, groupDelete, groupList, groupRemove } from './share/groups.ts'
import { share, shareList, shareRemove } from './share/share.ts'
import { simulate } from './simulate.ts'
import { status } from './status.ts'
import { supportBundle } from './support-bundle.ts'
import { tokenAccess } from './token/access.ts'
import { tokenEdge } from './token/edge.ts'
import { up } from './up.ts'
import { upgrade } from './upgrade.ts'
import { watch } from './watch.ts'
import { whoami } from './whoami.ts'
import { why } from './why.ts'

export const commands: readonly CommandDeclaration[] = [
  me,
  status,
  watch,
  doctor,
  supportBundle,
  up,
  login,
  logout,
  whoami,
  contextAdd,
  contextUse,
  contextList,
  contextRemove,
  tokenEdge,
  tokenAccess,
  accountAssociate,
  accountUnassociate,
  accountShow,
  gpsUpdate,
  gpsShow,
  gpsFollow,
  nodes,
  locationShare,
  locationShow,
  locationTrack,
  hmacCreate,
  hmacVerify,
  deploy,
  alias('ps', containerList),
  alias('logs', containerLogs),
  start,
  stop,
  restart,
  redeploy,
  curl,
  open,
  share,
  shareList,
  shareRemove,
  groupList,
  groupCreate,
  groupDelete,
  groupAdd,
  groupRemove,
  joinKeyCreate,
  joinKeyList,
  joinKeyRevoke,
  joinWaiting,
  joinApprove,
  joinRefuse,
  imageDeploy,
  imageList,
  imageRemove,
  imagePack,
  containerDeploy,
  containerList,
  ...containerChanges,
  containerRun,
  containerLogs,
  containerWait,
  composeCheck,
  appList,
  ...appChanges,
  appRemove,
  secretSet,
  secretList,
  secretRemove,
  why,
  deviceAdopt,
  devicePrepareImage,
  init,
  dev,
  upgrade,
  serviceInstall,
  serviceStatus,
  serviceLogs,
  servicePodman,
  simulate,
  call,
  adminAccountCreate,
  adminAccountList,
  adminAccountLink,
  adminAccountRevoke,
  adminLinkList,
  adminLinkRevoke,
  adminProjectCreate,
  adminProjectList,
  adminProjectOffline,
  adminProjectUpdate,
  adminProjectDisable,
  adminIssuerAdd,
  adminIssuerList,
  adminIssuerTest,
  adminIssuerRevoke,
  adminIssuerRemove,
  adminIssuerLink,
  adminIssuerUnlink,
  adminCompanyAdd,
  adminCompanyList,
  adminCompanyTest,
  adminCompanyRemove,
  adminTokenDeveloper,
  adminTokenList,
  adminTokenRevoke,
  adminNodeList,
  adminNodeBlock,
  adminNodeUnblock,
  adminEnrolmentCreate,
  adminKeysList,
  adminKeysRotate,
  adminStoreBackup,
  adminStoreNoteBackup,
  adminStoreRestore,
  adminStoreCopy,
  completion(() => commands),
]

/** Summaries of the groups of commands. */
export const groups: Readonly<Record<string, string>> = {
  context: 'Names for devices, to use in place of their addresses.',
  token: 'Tokens of this node.',
  account: 'The account that this runtime is associated with.',
  gps: 'The location of the device.',
  location: 'Who can see the location of the device.',
  hmac: 'HMAC codes of this node.',
  group: 'Groups of people of the account, to share services with.',
  join: 'Devices that wait until an owner of the account approves them.',
  'join-key': 'Keys by which new devices join the account by themselves.',
  image: 'Images on the device.',
  container: 'Services on the device.',
  app: 'Apps of several containers on the device.',
  compose: 'Compose files, which become apps.',
  secret: 'Secrets of services.',
  support: 'Facts about this machine, for a question to others.',
  device: 'The identity of this device, on its disk.',
  service: 'The systemd service of an installed program.',
  admin: "The operator's commands, over the socket of the identity service.",
  'admin account': 'Accounts.',
  'admin link': 'Links for one sign-in that were not used yet.',
  'admin project': 'Projects and their client IDs.',
  'admin company': 'Companies with a provider of their own for the console.',
  'admin issuer': 'OpenID Connect issuers that projects trust.',
  'admin token': 'Developer ID tokens.',
  'admin node': 'Enrolled nodes.',
  'admin enrolment': 'Enrolment codes.',
  'admin keys': 'Signing keys.',
  'admin store': 'The stores of the identity and the discovery service.',
}
