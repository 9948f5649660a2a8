/** An app of one member. */
const samplePlan = {
  name: 'x',
  services: [
    {
      ...{ name: 'x', image: 'x', pull: 'never', platform: null, hostname: null, isBehindGateway: false },
      ...{ env: {}, dependsOn: [], restart: 'always', maxRestarts: null, needsInit: false },
      ...{ addCapabilities: [], dropCapabilities: [], networks: [], volumes: [], secrets: [], configs: [] },
    },
  ],
  ...{ networks: [], volumes: [], secrets: [], configs: [] },
}

/** Parameters with which a method of the local API can be called, whatever comes of it. */
export function sampleOf(method: string, edgeAccessToken: string): object {
  const samples: Record<string, object> = {
    joinAccount: { joinKey: `sj_${'x'.repeat(32)}` },
    updateGps: { longitude: '1', latitude: '2', speed: '3', bearing: '4' },
    getNodes: { cluster: 'account' },
    getContainerLogs: { tail: 1 },
    setLocationSharing: { audience: 'account', precision: 'exact' },
    setLocationTrack: { until: '' },
    getEdgeHmacCode: { expiry: '4000000000', nodeId: 'a'.repeat(56), uri: '/x' },
    subscribe: { topics: ['account'] },
    unsubscribe: { subscription: '1' },
    deployImage: { source: '/nowhere' },
    setSecret: { name: 'x', value: 'value of a secret' },
    removeSecret: { name: 'x' },
    deployApp: { plan: samplePlan },
    startApp: { name: 'x' },
    stopApp: { name: 'x' },
    redeployApp: { name: 'x' },
    rollbackApp: { name: 'x' },
    removeApp: { name: 'x' },
    deployContainer: { spec: { name: 'x', image: 'x', env: {} } },
  }
  const byId = /^(?:remove(?!Secret|App)|start(?!App)|stop(?!App)|redeploy(?!App)|runS)|Logs$|History$/.test(
    method,
  )
    ? { id: 'x' }
    : {}
  return { edgeAccessToken, ...byId, ...samples[method] }
}
