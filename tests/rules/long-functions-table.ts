/** Functions with more than 70 lines of code, each with its reason. An entry may go; a new one needs a better reason than these. */

/** The functions share one state that only they may change: apart, each would be given all of it. */
const oneState = 'closures over one state that nothing else may reach'
/** Each handler or route is short; the function is the list of them. */
const list = 'a list of short handlers or routes, in which nothing is decided'
const composition = 'a composition root: it creates parts in order and decides nothing'
const sequence = 'one sequence whose steps need what the steps before them found'
const fixture = 'a fixture: everything that one test subject can do, in one place'

export const longFunctions: Readonly<Record<string, string>> = {
  'tests/system/network/bad-networks.ts connectDevice': fixture,
  'apps/console/src/parts/map/mark-layer.tsx createMarkLayer': oneState,
  'apps/discovery/src/discovery.ts startDiscovery': composition,
  'apps/discovery/src/endpoints/account.ts addAccountEndpoints': list,
  'apps/discovery/src/registry/registry.ts createRegistry': oneState,
  'apps/discovery/src/stores/cluster/cluster-store.ts openClusterStore': oneState,
  'apps/discovery/src/stores/cluster/put.ts createWriter': oneState,
  'apps/identity/src/api/console/callers.ts createCallers': oneState,
  'apps/identity/src/api/console/handlers/links.ts linkHandlers': list,
  'apps/identity/src/api/console/handlers/person.ts personHandlers': list,
  'apps/identity/src/api/console/handlers/shares.ts shareHandlers': list,
  'apps/identity/src/api/console/places.ts createPlaces': oneState,
  'apps/identity/src/registry/sign-ins/device-requests.ts createDeviceRequests': oneState,
  'apps/identity/src/registry/keys/signing-keys.ts openSigningKeys': oneState,
  'apps/identity/src/registry/projects/developer-tokens.ts createDeveloperTokens': oneState,
  'apps/identity/src/registry/people/links.ts createLinks': oneState,
  'apps/identity/src/registry/revocation/list.ts openRevocationList': oneState,
  'apps/identity/src/registry/revocation/revocations.ts openRevocations': oneState,
  'apps/runtime/src/services/containers/containers.ts createContainers': oneState,
  'apps/runtime/src/services/engines/function/platform/files/descriptors.ts createDescriptors': oneState,
  'apps/runtime/src/services/engines/function/platform/files/tree.ts createTree': oneState,
  'apps/runtime/src/services/containers/entries.ts createEntries': oneState,
  'apps/runtime/src/services/containers/starts.ts createStarts': oneState,
  'apps/runtime/src/services/engines/function/platform/host.ts hostFunction': sequence,
  'apps/runtime/src/services/engines/function/platform/storage.ts createStorage': oneState,
  'apps/runtime/src/services/engines/oci/engine-api.ts createEngineApi': oneState,
  'apps/runtime/src/services/gateway/upgrade.ts passUpgrade': sequence,
  'apps/runtime/src/location/gps/publisher.ts createPublisher': oneState,
  'apps/runtime/src/location/link-local/browser.ts createBrowser': oneState,
  'apps/runtime/src/location/link-local/link-socket.ts openLinkSocket': sequence,
  'apps/runtime/src/api/mcm/routes.ts mcmRoutes': list,
  'apps/simulator/src/drive.ts drive': sequence,
  'apps/simulator/src/wire.ts createWire': oneState,
  'bench/rows/containers.ts containerRows': fixture,
  'bench/rows/gateway.ts gatewayRows': fixture,
  'bench/rows/reports.ts reportRows': fixture,
  'packages/client/src/backend/issuer-keys.ts createIssuerKeys': oneState,
  'packages/service-kit/src/store/change-queue.ts createChangeQueue': oneState,
  'packages/service-kit/src/store/postgres.ts openPostgres': sequence,
  'packages/service-kit/src/store/sqlite.ts connect': sequence,
  'tests/system/fuzz/engine/fuzz-target.ts fuzzTarget': fixture,
  'tests/harness/company-provider.ts startCompanyProvider': fixture,
  'tests/harness/neighbourhood.ts makeNeighbourhood': fixture,
  'tests/harness/sharing.ts startSharing': fixture,
  'tests/system/reliability/subjects/discovery.ts discoverySubject': fixture,
  'tests/system/reliability/subjects/identity.ts identitySubject': fixture,
  'tests/system/reliability/subjects/runtime.ts runtimeSubject': fixture,
  'tests/rules/unguarded-callbacks.ts createCheck': oneState,
  'tests/system/soak/run.ts soak': sequence,
}

/** Functions with more than 100 lines that are still to be split, with their lines: they may only get shorter. */
export const tooLongFunctions: Readonly<Record<string, number>> = {}
