/**
 * Who may call each method, written down a second time. The tests of tokens and sessions take what they expect from the declarations, so
 * they cannot tell that a declaration asks for too little: this table can.
 */
import { type Access, type FromServices, type Method, methods } from '@selvedge/protocol'
import { adminMethods } from '@selvedge/protocol/admin'
import { consoleMethods } from '@selvedge/protocol/console'
import { expect, it } from 'vitest'

const device = {
  anyone: [
    'getMe',
    'getEdgeIdToken',
    'joinAccount',
    'verifyEdgeHmacCode',
    'getEngines',
    'getNetworkUse',
    'rpc.discover',
  ],
  'a token of this node, edge:account:associate': ['associateAccount'],
  'a token of the account, edge:account:unassociate': ['unassociateAccount'],
  'a token of the account': [
    'updateGps',
    'getGps',
    'setLocationSharing',
    'getLocationSharing',
    'setLocationTrack',
    'getLocationTrack',
    'getEdgeHmacCode',
    'subscribe',
    'unsubscribe',
  ],
  'a token of the account, edge:clusters': ['getNodes'],
  'a token of the account, edge:mcm': [
    'deployImage',
    'getImages',
    'removeImage',
    'deployContainer',
    'getContainers',
    'startContainer',
    'stopContainer',
    'redeployContainer',
    'removeContainer',
    'runScheduled',
    'getContainerLogs',
    'getContainerHistory',
    'deployApp',
    'getApps',
    'startApp',
    'stopApp',
    'redeployApp',
    'rollbackApp',
    'removeApp',
    'setSecret',
    'getSecrets',
    'removeSecret',
  ],
}

const console = {
  anyone: [
    'session.get',
    'session.end',
    'sign_in.passkey.begin',
    'sign_in.passkey.finish',
    'sign_in.password',
    'company.begin',
    'company.finish',
    'sign_in.recovery',
    'link.look',
    'link.use',
    'authorization.begin',
    'logout.look',
    'logout.finish',
  ],
  'a person': [
    'session.list',
    'session.revoke',
    'session.switch',
    'passkey.list',
    'member.list',
    'audit.list',
    'project.list',
    'project.create',
    'project.update',
    'project.dependents',
    'company.list',
    'issuer.list',
    'token.list',
    'token.revoke',
    'sign_in.list',
    'sign_in.revoke',
    'device_request.find',
    'authorization.decide',
    'device.list',
    'device.get',
    'device.track',
    'device.facets',
    'device.attention',
    'device.history',
    'device.label',
    'map.background',
    'device.revoke',
    'devices.tag',
    'devices.revoke',
  ],
  'a person, signed in recently': [
    'company.unlink',
    'passkey.begin',
    'passkey.finish',
    'passkey.remove',
    'password.set',
    'recovery.create',
    'token.create',
    'device_request.decide',
  ],
  'an owner': [
    'invitation.list',
    'invitation.revoke',
    'device.block',
    'device.unblock',
    'device.disassociate',
    'devices.block',
    'devices.unblock',
    'share.list',
    'share.add',
    'share.remove',
    'group.list',
    'group.create',
    'group.delete',
    'group.add_person',
    'group.remove_person',
    'join_key.list',
    'join_key.revoke',
    'join.rules',
    'join.waiting',
    'join.approve',
    'join.refuse',
  ],
  'an owner, signed in recently': [
    'member.invite',
    'member.set_role',
    'member.remove',
    'account.revoke_all',
    'project.delete',
    'company.update',
    'issuer.add',
    'issuer.remove',
    'issuer.revoke',
    'issuer.test',
    'issuer.link',
    'issuer.unlink',
    'join_key.create',
    'join.set_rules',
  ],
}

function wordsOf(access: Access): string {
  switch (access.caller) {
    case 'anyone':
      return 'anyone'
    case 'operator':
      return 'the operator'
    case 'token': {
      const whose = access.token === 'node' ? 'a token of this node' : 'a token of the account'
      return access.scope === undefined ? whose : `${whose}, ${access.scope}`
    }
    case 'person': {
      const who = access.role === 'owner' ? 'an owner' : 'a person'
      return access.session === 'recent' ? `${who}, signed in recently` : who
    }
  }
}

/** Names by what their callers need. */
function byAccess(
  table: Readonly<Record<string, { name: string; access: Access }>>,
): Record<string, string[]> {
  const found: Record<string, string[]> = {}
  for (const { name, access } of Object.values(table)) {
    const words = wordsOf(access)
    found[words] = [...(found[words] ?? []), name].sort()
  }
  return found
}

const sorted = (table: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(Object.entries(table).map(([words, names]) => [words, [...names].sort()]))

it('the methods of a device ask for what is written here', () => {
  expect(byAccess(methods)).toEqual(sorted(device))
})

it('the methods of the console ask for what is written here', () => {
  expect(byAccess(consoleMethods)).toEqual(sorted(console))
})

it('the methods of the admin socket are for its operator alone', () => {
  expect(Object.keys(byAccess(adminMethods))).toEqual(['the operator'])
})

/** What services of the device may call. What is not here, they may not. */
const fromServices = {
  yes: [
    'getMe',
    'getNodes',
    'getGps',
    'getEdgeHmacCode',
    'verifyEdgeHmacCode',
    'getImages',
    'getContainers',
    'getContainerLogs',
    'getContainerHistory',
    'getApps',
  ],
  'MCM.EDGE_ID_TOKEN': ['getEdgeIdToken'],
  'MCM.MANAGE': [
    'associateAccount',
    'unassociateAccount',
    'deployImage',
    'removeImage',
    'deployContainer',
    'startContainer',
    'stopContainer',
    'redeployContainer',
    'removeContainer',
    'deployApp',
    'startApp',
    'stopApp',
    'redeployApp',
    'rollbackApp',
    'removeApp',
  ],
}

it('services may call the methods that are written here', () => {
  const found = Object.groupBy<FromServices, Method>(
    Object.values(methods),
    ({ fromServices }) => fromServices ?? 'no',
  )
  const names = Object.entries(found).map(([words, list]) => [words, list.map(({ name }) => name).sort()])
  expect({ ...Object.fromEntries(names), no: [] }).toEqual({ ...sorted(fromServices), no: [] })
})

it('only getMe is open where an API key is set', () => {
  const open = Object.values(methods).filter(
    ({ access }) => 'withoutApiKey' in access && access.withoutApiKey,
  )
  expect(open.map(({ name }) => name)).toEqual(['getMe'])
})
