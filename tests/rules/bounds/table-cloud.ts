/** What others can make grow in the identity and the discovery service. */
import { type Bounds, lasting, own, passing } from './bound.ts'

export const identity: Bounds = {
  'apps/identity/src/storage/audit/audit.ts': {
    'createAudit.touched': lasting('accounts with a new row in the last minute', '`touched = new Map()`'),
  },
  'apps/identity/src/registry/revocation/entries.ts': {
    'Entries.#revoked': lasting('`folding.ts: bounds.inAll`', '`this.#revoked.delete`'),
    'Entries.#endings': lasting('one for each account, node and project', '`endings.delete`'),
    'Entries.#folded': lasting('one for each account', '`endings.delete`'),
    'Entries.apply.endings': lasting('one for each account, node and project', '`endings.delete`'),
  },
  'apps/identity/src/registry/revocation/list.ts': {
    'openRevocationList.signed': own('two variants'),
    'openRevocationList.answers': lasting('`answers.size < maxAnswers`', '`answers = new Map()`'),
  },
  'apps/identity/src/storage/changes/followers.ts': {
    'createFollowers.followed': own('one for each part that follows a topic'),
  },
  'apps/identity/src/storage/changes/trust-cache.ts': {
    'createTrustCache.recent': lasting('`RecentMap<string, V>(limit)`', 'newer ones'),
    'openTrustCopy.entries': lasting('the rows of the table: `readAll`', '`entries.delete`'),
  },
  'apps/identity/src/api/console/events.ts': {
    'createEvents.streams': lasting('one for each account that is shown in a browser', '`streams.delete`'),
    'createEvents.viewings': lasting('one for each stream', '`viewings.delete`'),
    'createEvents.open.own': lasting('`own.size >= maxStreams` ends the oldest', '`own.delete`'),
    'createEvents.open.timers': own('two timers'),
    'createEvents.open.news': lasting(
      'one for each device of the account',
      '`news = new Map` twice a second',
    ),
  },
  'apps/identity/src/api/console/discovery-stream.ts': {
    'createEventReader.line': lasting('`line.length + part.length > maxEventCharacters`', "`line = ''`"),
  },
  'apps/identity/src/registry/credentials/passwords.ts': {
    'createPasswords.waiting': lasting('`waiting.length >= longestQueue`', '`waiting.shift`'),
  },
  'apps/identity/src/api/console/handlers/shares.ts': {
    'shareHandlers.groups': own('the store of groups: its method has the name of one of a set'),
    'shareHandlers.shares': own('the store of shares: its method has the name of one of a set'),
  },
  'apps/identity/src/api/console/handlers/join-keys.ts': {
    'joinKeyHandlers.joinRules': own('the store of the rules: its method has the name of one of a set'),
  },
  'apps/identity/src/registry/shares/groups.ts': {
    'toGroups.found.people': passing('`users.ts: peopleOfGroup`'),
  },
  'apps/identity/src/api/console/handlers/devices.ts': {
    'deviceHandlers.labels': own('the store of labels: its method has the name of one of a set'),
  },
  'apps/identity/src/registry/nodes/device-facets.ts': {
    'createDeviceFacets.known': lasting('`known.size >= memory.accounts`', '`known.delete`'),
  },
  'apps/identity/src/api/console/device-export.ts': {
    'readSelected.selected': passing('the devices of one account: `config.ts: limits.nodes`'),
  },
  'apps/identity/src/api/console/place-states.ts': {
    'addStates.text': passing(
      'one piece of an answer, and `maxPlaceCharacters` characters of the one before',
    ),
  },
  'apps/identity/src/api/console/places.ts': {
    'createPlaces.watched': lasting('one for each account that is shown in a browser', '`watched.delete`'),
  },
  'apps/identity/src/api/endpoints/token.ts': {
    'createTokenEndpoint.answer.headers': passing('three headers: `corsOfClient`'),
  },
  'apps/identity/src/api/endpoints/pushed-authorization.ts': {
    'addPushedAuthorizationEndpoint.parts.pushedRequests': lasting(
      '`pushed-requests.ts: requestLimits`',
      '`expired-rows.ts: pushed_requests`',
    ),
  },
  'apps/identity/src/tokens/trust/trust.ts': {
    'openTrust.issuers': own('one for each issuer of the configuration'),
  },
  'apps/identity/src/registry/keys/signing-keys.ts': {
    'openSigningKeys.signers': own('one for each kind of token and algorithm'),
    'openSigningKeys.opened': own('the signing keys, replaced as a whole; the operator makes them'),
  },
  'apps/identity/src/registry/use-notes.ts': {
    'createUseNotes.noted': lasting('`RecentMap<string, number>(100_000)`', 'newer ones'),
    'createUseNotes.unwritten': lasting(
      'tokens that were used in the last `useTimes.writeMs`, each of them verified',
      '`unwritten.clear`',
    ),
  },
  'apps/identity/src/registry/projects/federated-subjects.ts': {
    'createWorkloads.recent': lasting('`RecentMap<string, Remembered>(20_000)`', 'newer ones'),
  },
  'apps/identity/src/tokens/federation/verify-by-rules.ts': {
    'createRulesVerifier.profiles': own('one for each set of the four algorithms'),
    'createWaiting.waiting': lasting(
      '`maxWaiting` for each account with requests that wait',
      '`waiting.delete`',
    ),
  },
  'apps/identity/src/tokens/federation/issuer-keys.ts': {
    'createIssuerKeys.createKind.held': lasting('`RecentMap<string, Held>(limits.issuers)`', 'newer ones'),
  },
  'apps/identity/src/tokens/company/client.ts': {
    'authOf.body': own('three fields of one request'),
  },
  'apps/identity/src/tokens/company/metadata.ts': {
    'createReadMetadata.held': lasting('`RecentMap<string, Held>(limits.providers)`', 'newer ones'),
  },
  'apps/identity/src/tokens/company/test-company.ts': {
    'createTestCompany.checks': own('one for each check of one request'),
  },
  'apps/identity/src/registry/nodes/nodes.ts': {
    'createNodes.listeners': own('one for each part that follows the nodes'),
  },
}

/** Of an account; a silent one is forgotten. */
const nodesLimited = '`registry.ts: maxNodes` of an account'

export const discovery: Bounds = {
  'apps/discovery/src/endpoints/account.ts': {
    'addAccountEndpoints.streams': lasting('one for each account that is followed', '`streams.delete`'),
    'addAccountEndpoints.readers': lasting('`readers.size >= maxReaders`', '`readers.delete`'),
    'addAccountEndpoints.readersOf.readers': lasting('`maxReaders`', '`readers.delete`'),
  },
  'apps/discovery/src/endpoints/fixes.ts': {
    'fixesEndpoint.tracks': lasting('`tracks.ts: deleteOldest`', '`tracks.ts: DELETE FROM tracks`'),
  },
  'apps/discovery/src/endpoints/node-lists.ts': {
    'createMoveLimit.centres': lasting('`RecentMap<string, KnownLocation>(maxCentres)`', 'newer ones'),
  },
  'apps/discovery/src/endpoints/write-places.ts': {
    'writePlaces.parts': passing('`maxPlacesBytes`'),
  },
  'apps/discovery/src/index/grid.ts': {
    'Grid.#heads': lasting('cells with a node', '`this.#heads.delete` when the last node leaves'),
    'Grid.within.hits': passing('the nodes of the grid: `distance <= radius`'),
  },
  'apps/discovery/src/registry/registry.ts': {
    'createRegistry.written': lasting('`RecentMap<string, number>(remembered)`', 'newer ones'),
    'createRegistry.waiting': lasting('nodes with a session', '`waiting = new Map()` every five seconds'),
  },
  'apps/discovery/src/registry/tracks.ts': {
    'createTracks.added': lasting('`RecentMap<string, number>(remembered)`', 'newer ones'),
  },
  'apps/discovery/src/stores/cluster/near.ts': {
    'candidatesOf.nodes': passing('`mostCount` of each cell'),
    'confirm.confirmed': passing('the candidates of a question: `mostCount` of each cell'),
    'confirm.found': passing('`slice(0, query.limit)`'),
  },
  'apps/discovery/src/stores/cluster/put.ts': {
    'createWriter.placeAll.members': passing('`most` locations'),
    'createWriter.placeAll.add.values': passing('`most` locations'),
    'createWriter.flush.group.all': passing('the locations of one turn of the event loop: `setImmediate`'),
    'createWriter.waiting': lasting('one for each report under way', '`waiting = []` in each turn'),
  },
  'apps/discovery/src/stores/embedded/columns.ts': {
    'Columns.nodeIds': lasting(nodesLimited, '`#freeSlots`: numbers are used again'),
    'Columns.#names': lasting(nodesLimited, '`#freeSlots`: numbers are used again'),
    'Columns.#slots': lasting(nodesLimited, '`this.#slots.delete` in remove'),
    'Columns.#accounts': lasting('accounts with a node', '`#freeAccounts`: numbers are used again'),
    'Columns.#accountNumbers': lasting('accounts with a node', '`this.#accountNumbers.delete`'),
    'Columns.#heads': lasting('accounts with a node', '`#freeAccounts`: numbers are used again'),
    'Columns.#sizes': lasting('accounts with a node', '`#freeAccounts`: numbers are used again'),
    'Columns.#freeSlots': lasting('the nodes that there were at one time', '`#freeSlots.pop`'),
    'Columns.#freeAccounts': lasting('the accounts that there were at one time', '`#freeAccounts.pop`'),
  },
  'apps/discovery/src/stores/embedded/durable-copy.ts': {
    'createDurableCopy.dirty': lasting('one for each node', '`dirty.delete` when it is written'),
  },
  'apps/discovery/src/trust/realms.ts': {
    'createRealms.edges': own('one for each issuer of the configuration'),
  },
  'apps/discovery/src/trust/trust.ts': {
    'openTrust.issuers': own('one for each issuer of the configuration'),
  },
  'apps/discovery/src/stores/embedded/embedded-store.ts': {
    'openEmbeddedStore.nodes.term': lasting('one for each node', '`nodes.remove(slot)`'),
  },
  'apps/discovery/src/stores/embedded/audience-index.ts': {
    'createAudienceIndex.grids.[]': lasting('one for each node', '`delete(slot)`'),
  },
  'apps/discovery/src/stores/embedded/watchers.ts': {
    'createWatchers.watchers': lasting('one for each account that is followed', '`watchers.delete`'),
    'createWatchers.add.own': lasting('one for each reader of the account', '`own.delete`'),
  },
}
