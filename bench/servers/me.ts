/** What the peers answer to getMe: the same record as the runtime, so that the rows compare servers and not records. */
const remote = {
  reachable: false,
  since: '2026-01-01T00:00:00.000Z',
  lastError: 'connect ECONNREFUSED 127.0.0.1:9',
}

export const me = () => ({
  nodeId: 'a'.repeat(56),
  accountId: '',
  name: 'device',
  version: '0.1.0',
  linkLocalIp: '192.0.2.2',
  time: { state: 'held', now: new Date().toISOString() },
  network: { identity: remote, discovery: { reachable: null, since: null } },
  notices: [],
  supports: [
    'getMe',
    'getEdgeIdToken',
    'associateAccount',
    'unassociateAccount',
    'updateGps',
    'getGps',
    'getEdgeHmacCode',
    'verifyEdgeHmacCode',
    'rpc.discover',
  ],
})
