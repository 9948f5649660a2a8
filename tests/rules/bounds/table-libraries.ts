/** What others can make grow in the libraries, the stack, the console's pages, the simulator and the command line. */
import { type Bounds, lasting, own, passing } from './bound.ts'

export const serviceKit: Bounds = {
  'packages/service-kit/src/config/load.ts': {
    'loadConfig.config': own('one for each option'),
  },
  'packages/service-kit/src/http-app/http-app.ts': {
    'createServers.others': own('one for each address of the loopback'),
    'createServers.closing': own('the same'),
  },
  'packages/service-kit/src/http-app/route-limits.ts': {
    'limitRoutes.limits': own('one for each route that the program declares'),
  },
  'packages/service-kit/src/http/body.ts': {
    'readBody.more': passing('`size > limit`'),
  },
  'packages/service-kit/src/http/bounded-writer.ts': {
    'createBoundedWriter.waiting': lasting('`bytes > maxBytes`', '`takeFirst`'),
  },
  'packages/service-kit/src/http/certificate.ts': {
    'openCertificate.servers': own('one for each address of the configuration'),
  },
  'packages/service-kit/src/http/connections.ts': {
    'followConnections.all': lasting('`all.size >= max`', '`evict`, and `all.delete` when one closes'),
  },
  'packages/service-kit/src/http/protocols.ts': {
    'speakHttp2.beside.sessions': lasting(
      'the connections: `connections.ts: all.size >= max`',
      '`beside.sessions.delete`',
    ),
    'sniff.head': passing('one read of the socket: `length < preface.length`'),
    'sniff.socket': passing('what was read, given back once: `socket.unshift(head)`'),
    'sniff.undecided': lasting('the connections: `connections.ts: all.size >= max`', '`undecided.delete`'),
  },
  'packages/service-kit/src/http/in-turn.ts': {
    'inTurn.line': lasting('`line.length < maxWaiting`', '`shift`, at the end of each answer'),
  },
  'packages/service-kit/src/http/guarded-request.ts': {
    'read.parts': passing('`sizeBytes > guardedLimits.maxBytes`'),
  },
  'packages/service-kit/src/http/get-json.ts': {
    'readJson.parts': passing('`size > maxBytes`'),
  },
  'packages/service-kit/src/http/limiter.ts': {
    'createLimiter.buckets': lasting('`remembered`', 'newer ones'),
  },
  'packages/service-kit/src/http/listen.ts': {
    'listenTcp.servers': own('one for each address of the configuration'),
  },
  'packages/service-kit/src/metrics/registry.ts': {
    'createRegistry.families': own('one for each metric that the program declares'),
    'createRegistry.declared': own('the same'),
  },
  'packages/service-kit/src/otel/otlp.lazy.ts': {
    'startOtlp.waiting': lasting('`waiting.length >= maxSpans`', '`waiting.splice`'),
    'startOtlp.batch': lasting('`maxBatch`', '`batch = []`'),
  },
  'packages/service-kit/src/http/one-a-turn.ts': {
    'createOneATurn.waiting': lasting(
      'large bodies: `rpc-listener.ts: maxLargeBodiesBytes`; large messages: `large-messages.ts: messages.underWay < max`',
      '`waiting.shift`',
    ),
  },
  'packages/service-kit/src/http/load-shedder.ts': {
    'createLoadShedder.resting': lasting('one a connection', '`resting.delete(socket)`, after a second'),
    'createLoadShedder.resumed': lasting('one a connection', '`old.clear()`, after two ticks'),
    'createLoadShedder.resumedBefore': lasting('one a connection', '`resumedBefore = resumed`, at each tick'),
  },
  'packages/service-kit/src/http/refuse-busy.ts': {
    'createRefuseBusy.waiting': lasting('the requests of one turn', '`waiting = []`, at its end'),
  },
  'packages/service-kit/src/websocket/rpc-socket.ts': {
    'RpcSocket.#waiting': lasting(
      '`waitingMessages`, and large ones `large-messages.ts: messages.underWay < max`',
      '`shift`, at the end of each call',
    ),
    'RpcSocket.#ends': lasting(
      'one for each part of the runtime that follows the connection, which limits its own',
      '`#ends?.delete(guarded)`, and the end of the connection',
    ),
  },
  'packages/service-kit/src/websocket/rpc-sockets.ts': {
    'createRpcSockets.sockets': lasting('`sockets.makeRoom()`', '`sockets.remove`, when one closes'),
    'loadServer.addHeaders.lines': passing('two more lines: `addHeaders`'),
  },
  'packages/service-kit/src/websocket/socket-set.ts': {
    'createSocketSet.all': lasting('`all.size >= limits.connections`', '`all.delete`, when one closes'),
    'createSocketSet.unauthenticated': lasting(
      '`unauthenticated.size < limits.unauthenticated`',
      '`evictOne`, and `unauthenticated.delete` when one closes',
    ),
    'createSocketSet.callers': lasting('`all.has(socket)`', '`callers.remove`, when one closes'),
  },
  'packages/service-kit/src/lifecycle/readiness.ts': {
    'createReadiness.stalled': own('one for each route and method that the program declares'),
    'createReadiness.listeners': own('one for each part that follows it'),
  },
  'packages/service-kit/src/work/work-count.ts': {
    'createWorkCounts.counts': lasting(
      'one for each owner with work under way, which its users limit, such as `owner-share.ts: ofOwner`',
      '`counts.delete`, with the last work of an owner',
    ),
  },
  'packages/service-kit/src/work/workload.ts': {
    'followWorkload.all': own('one for each count that the program declares'),
  },
  'packages/service-kit/src/websocket/callers.ts': {
    'createCallers.ends': lasting('`socket-set.ts: all.has(socket)`', '`ends.delete`, when one closes'),
  },
  'packages/service-kit/src/lifecycle/alarms.ts': {
    'raiseAlarms.listeners': own('one for each part that shows alarms'),
  },
  'packages/service-kit/src/backup/backup-file.ts': {
    'files of extractMember': own('two members of a backup that its operator names'),
  },
  'packages/service-kit/src/backup/swap.ts': {
    'files of writeNote': own('one note, and the files of before for each restore that an operator runs'),
  },
  'packages/service-kit/src/lifecycle/crash-record.ts': {
    'files of countCrash': own('one file of a fixed form'),
  },
  'packages/service-kit/src/log/log.ts': {
    'createIsHidden.known': lasting(
      '`known.size < maxNames`',
      'nothing: later names are looked at each time',
    ),
    'createReplacer.enclosing': passing('`enclosing.length === maxDepth`'),
  },
  'packages/service-kit/src/revocations/followed-lists.ts': {
    'openFollowedLists.listeners': own('one for each endpoint with streams'),
    'logTrouble.known': own('one for each kind of trouble and issuer of the configuration'),
  },
  'packages/service-kit/src/revocations/feed.ts': {
    'createFailureCount.failures': own('one for each issuer of the configuration'),
    'createRevocationFeed.confirmations': own('one for each issuer of the configuration'),
    'createStoring.details': own('one for each issuer of the configuration'),
  },
  'packages/service-kit/src/revocations/live-lists.ts': {
    'createLiveLists.live': own('one list for each issuer of the configuration'),
    'createLiveLists.reasonFor.known': own('a fixed number of kinds for each verified token'),
  },
  'packages/service-kit/src/log/error-id.ts': {
    'errorIdOf.known': lasting('`known.size < limits.causes`', '`known.delete`'),
  },
  'packages/service-kit/src/store/learned-store.ts': {
    'createLearnedStore.pending': lasting('one for each key: an issuer that is trusted', '`pending.delete`'),
    'createLearnedStore.turns': passing('one for each key, until `turns.delete`'),
  },
  'packages/service-kit/src/store/wait-for-room.ts': {
    'files of hasRoom': passing('`neededBytes` bytes, removed at once'),
  },
  'packages/service-kit/src/store/change-queue.ts': {
    'createChangeQueue.queue': lasting('one for each request under way', '`queue = all.applied`'),
  },
  'packages/service-kit/src/store/document.ts': {
    'openDocument.queue': lasting('one for each request under way', '`batch.written`'),
    'setAside.names': own('two files of a document'),
    'files of openBoth': own('two files that take turns'),
    'files of setAside': own('one for each file that was damaged at a start'),
  },
  'packages/service-kit/src/store/folder-lock.ts': {
    'files of takeLock': own('one empty file'),
  },
  'packages/service-kit/src/store/make-folder.ts': {
    'files of makeOne': own('one folder'),
  },
  'packages/service-kit/src/store/platform/sqlite-worker.ts': {
    prepared: lasting('`prepared.size >= maxPrepared`', '`prepared.clear`'),
  },
  'packages/service-kit/src/store/postgres.ts': {
    'openPostgres.listeners': own('one for each part that follows other replicas'),
    'createPrepare.names': lasting('`names.size < maxPrepared`', 'nothing; further statements get no name'),
    'table schema_version': own('one row'),
  },
  'packages/service-kit/src/store/sqlite.ts': {
    'connect.pending': lasting('one for each statement of a request under way', '`pending.delete`'),
    'createSender.waiting': lasting('the same', '`waiting.splice`'),
  },
  'packages/service-kit/src/store/sync-folder.ts': {
    found: own('the folders of the state folder'),
  },
  'packages/service-kit/src/store/write-once.ts': {
    'files of writeOnce': own('one file, for a key or a secret'),
  },
  'packages/service-kit/src/tokens/foreign-keys.ts': {
    'readForeignKeySet.keys': passing('`list.length > foreignKeyLimits.keys`'),
  },
  'packages/service-kit/src/tokens/dpop.ts': {
    'createDpopVerifier.seals': lasting('`RecentMap<number, string>(nonceSeconds + 1)`', 'newer ones'),
  },
  'packages/service-kit/src/tokens/key-cache.ts': {
    'createKeyCache.known': lasting(
      '`RecentMap<string, { key: KeyObject; jkt: string }>(limit)`',
      'newer ones',
    ),
  },
  'packages/service-kit/src/tokens/recent-map.ts': {
    'RecentMap.#young': lasting('`this.#young.size >= this.#half`', '`this.#young = new Map()`'),
    'RecentMap.#old': lasting('as many as the young ones', '`this.#old = this.#young`'),
  },
  'packages/service-kit/src/tokens/verifier.ts': {
    'createTokenVerifier.verified': lasting(
      '`RecentMap<string, Remembered>(options.remembered)`',
      'newer ones',
    ),
  },
}

export const libraries: Bounds = {
  'packages/client/src/backend/verifier.ts': {
    'createAccessTokenVerifier.verified': lasting('`verified.size >= remembered`', '`verified.delete`'),
  },
  'packages/client/src/function/testing.ts': {
    'createBackground.tasks': own('what a test of its user calls'),
    'handlerContext.files': own('the same'),
    'createStorage.tags': own('the same'),
    'createStorage.items': own('the same'),
    'createResponse.body': own('the same'),
  },
  'packages/client/src/node/network/agent.ts': {
    'createAgent.opening': lasting(
      'the connections that requests wait for',
      '`opening.delete` when one is open, or fails',
    ),
  },
  'packages/client/src/node/network/authorities.ts': {
    'openAuthorities.madeOf': own('one list for each file of the settings and of the system'),
  },
  'packages/client/src/node/network/certificates.ts': {
    'openCertificateFile.certificates': own('the certificates of one file, at most `authorities.ts: limits`'),
  },
  'packages/client/src/node/network/contexts.ts': {
    'openContexts.made': own('one for each file of the settings: `client-certificates.ts: maxEntries`'),
  },
  'packages/client/src/node/network/usage.ts': {
    'createUsageCount.closed': own('one for each purpose that the program names'),
    'createUsageCount.open': lasting(
      'the connections that agents have open',
      '`open.delete` when one closes',
    ),
    'createUsageCount.plus.totals': own('one for each purpose'),
  },
  'packages/client/src/node/network/open-tunnel.ts': {
    'openTunnel.socket': passing(
      '`socket.unshift(answer.extra)` once: what came in one packet with the answer',
    ),
  },
  'packages/client/src/node/network/open-tcp.ts': {
    'createRace.waiting': passing('`slice(0, maxAddresses)`'),
    'createRace.sockets': passing('one for each address that waited: `slice(0, maxAddresses)`'),
  },
  'packages/client/src/node/network/shared-lookup.ts': {
    'createSharedLookup.asking': lasting(
      '`asking.size >= maxNames`',
      '`asking.delete`, when the system answers',
    ),
    'createSharedLookup.answered': lasting(
      '`answered.size >= maxNames`',
      '`answered.delete` of the oldest name',
    ),
  },
  'packages/client/src/node/network/network.ts': {
    'createNetwork.agents': own(
      'one for each use, protocol and proxy of the settings: at most twelve for each purpose',
    ),
  },
  'packages/client/src/node/node-fetch.ts': {
    'readAll.chunks': passing('`size > maxAnswerBytes`'),
  },
  'packages/client/src/node/streams.ts': {
    'readText.text': passing('`text.length > maxAnswer`'),
  },
  'packages/client/src/read-text.ts': {
    'readText.text': passing('`size > maxBytes`'),
    'all that readText.text() reads': passing(
      'the answer of a `fetch` with a limit: `node-fetch.ts: maxAnswerBytes`',
    ),
  },
  'packages/geo/src/precision.ts': {
    grids: own('one for each precision'),
  },
  'packages/geo/src/receivers/nmea.ts': {
    'createNmeaReader.epoch': own('a fixed number of members'),
    'createNmeaReader.tell.out': passing('the readings of one chunk: `split(chunk)`'),
  },
  'packages/protocol/src/apps/read-plan/networks.ts': {
    'checkTaken.claim.owners': passing('16 ports and a path for each service: `plan.ts: services: 64`'),
  },
  'packages/protocol/src/apps/read-plan/read-plan.ts': {
    'readAppPlan.problems': passing('a few for each value of a plan: `apps.ts: maxAppBodyBytes`'),
  },
  'packages/protocol/src/lines/line-splitter.ts': {
    'createLineSplitter.rest': lasting('`rest.length > maxLine`', "`rest = ''`"),
  },
  'packages/protocol/src/jsonrpc/dispatcher.ts': {
    'createDispatcher.runBatch.ids': passing('`limits.batch`'),
  },
  'packages/protocol/src/tokens/base64url.ts': {
    values: own('the characters of the alphabet'),
  },
  'packages/protocol/src/tokens/jws.ts': {
    'splitJws.known': lasting(
      '`verifier.ts: RecentMap<string, JsonObject>(100)`, of `maxTokenLength` characters at most',
      'newer ones',
    ),
  },
  'packages/protocol/src/tokens/used-proofs.ts': {
    'UsedProofs.#used': lasting('`this.#used.size >= max`', '`this.#used.delete`, when a proof has ended'),
    'UsedProofs.#perOwner': lasting('one for each owner in `#used`', '`this.#perOwner.delete`'),
  },
}

export const programs: Bounds = {
  'apps/cli/src/archive/build.ts': {
    'files of buildFolder': own('one archive that its user builds'),
  },
  'apps/cli/src/archive/bundler/bundle.ts': {
    'bundleFunction.variants': passing('`node-variants.ts: added.size >= maxAdded`'),
    'buildOnce.warnings': passing('`warnings.length < 20`'),
    'collectModules.files': passing('`files.size > limits.modules`'),
    'collectModules.direct': passing('packages of `files`, which are limited'),
  },
  'apps/cli/src/archive/bundler/node-variants.ts': {
    'createNodeVariants.added': passing('`added.size >= maxAdded`'),
  },
  'apps/cli/src/archive/bundler/own-files.ts': {
    'collectOwnFiles.contents': passing('`contents.size >= limits.files`'),
  },
  'apps/cli/src/archive/bundler/policy.ts': {
    'createPolicy.packages': passing('`packages.size >= maxPackages`'),
  },
  // The interfaces of components run in the sandbox of their function, and count to its memory.
  'apps/cli/src/commands/device/adopt.ts': {
    'files of run': own('one empty file, in the folder that its user names'),
  },
  'apps/cli/src/commands/app/follow.ts': {
    'createView.shown': passing('one for each member: `plan.ts: services: 64`'),
  },
  'apps/cli/src/archive/component/host/body.ts': {
    'createQueue.chunks': lasting('`capacity: () => maxBufferedBytes - buffered`', '`chunks.shift`'),
  },
  'apps/cli/src/archive/component/host/fields.ts': {
    'Fields.#entries': passing('`entries.length > maxFields || bytes > maxFieldBytes`'),
  },
  'apps/cli/src/archive/component/host/keyvalue.ts': {
    'createKeyvalue.Bucket.listKeys.keys': passing('`keys.length <= maxListedKeys`'),
    'createKeyvalue.increment.bucket': own('the storage of the function, which has a quota'),
    'createKeyvalue.setMany.bucket': own('the same'),
  },
  'apps/cli/src/archive/component/host/worker.ts': {
    'createSlots.waiting': lasting(
      'the connections of the runtime: `connections.ts: all.size >= max`',
      '`waiting.shift`, and `waiting.splice` when a caller leaves',
    ),
    'createWorker.compiled': own('one for each core module of the component'),
    'startRun.sent': own('one promise of a request'),
    'all that compile.arrayBuffer() reads': own('one core module of the component'),
  },
  'apps/cli/src/dev/only-one.ts': {
    'files of onlyOne': own(
      'one socket for each `dev` of this user; the next one removes those of killed processes',
    ),
  },
  'apps/cli/src/compose/env-file.ts': {
    'readEnvFile.known': passing('a file of `limits.ts: envFileBytes: 256 * 1024`'),
  },
  'apps/cli/src/compose/gateway.ts': {
    'choosePaths.chosen': passing('one for each service: `plan.ts: services: 64`'),
    'choosePaths.paths': passing('one for each service: `plan.ts: services: 64`'),
  },
  'apps/cli/src/compose/interpolate.ts': {
    'interpolate.parts': passing('`length > composeLimits.textCharacters`'),
  },
  'apps/cli/src/compose/folder-files.ts': {
    'listFolder.files': passing('`entries > folderEntries`: `limits.ts: folderEntries: 1000`'),
  },
  'apps/cli/src/compose/open-compose.ts': {
    'openCompose.parsed': passing('one for each file: `folder-files.ts: used.files > composeLimits.files`'),
    'readVariables.values': passing('files of `composeLimits.envFileBytes`, which its user names'),
  },
  'apps/cli/src/compose/order-services.ts': {
    'checkDependencies.draft.dependsOn': passing('only those that were there: `present`'),
    'follow.done': passing('one for each service: `plan.ts: services: 64`'),
  },
  'apps/cli/src/compose/parts.ts': {
    'createConfigs.byPath': passing('one for each config: `configs.size >= appPlanLimits.configs`'),
    'createConfigs.configs': passing('`configs.size >= appPlanLimits.configs`'),
    'readParts.store': passing('`configs.size >= appPlanLimits.configs`'),
  },
  'apps/cli/src/compose/report.ts': {
    'createRemarks.all': passing('`all.length >= max`'),
    'createRemarks.keys': passing('one for each remark: `all.length >= max`'),
  },
  'apps/cli/src/compose/service/data.ts': {
    'addConfig.draft.configs': passing('the values of one file: `limits.ts: values: 20_000`'),
    'addConfig.draft.places.configs': passing('the values of one file: `limits.ts: values: 20_000`'),
    'readSecrets.draft.places.secrets': passing('the values of one file: `limits.ts: values: 20_000`'),
    'readOneEnvFile.draft.fileVariables': passing(
      'the files of one app: `limits.ts: allBytes: 16 * 1024 * 1024`',
    ),
    'readSecrets.draft.secrets': passing('the values of one file: `limits.ts: values: 20_000`'),
    'setVariable.draft.variables': passing('the values of one file: `limits.ts: values: 20_000`'),
  },
  'apps/cli/src/compose/service/draft.ts': {
    'setSetting.draft.settings': passing('the values of one file: `limits.ts: values: 20_000`'),
  },
  'apps/cli/src/compose/service/finish.ts': {
    'setPorts.ports': passing(
      '`network.ts: maxRange = 16` for each of the values: `limits.ts: values: 20_000`',
    ),
  },
  'apps/cli/src/compose/service/network.ts': {
    'addPorts.draft.ports': passing('`maxRange = 16` for each of the values: `limits.ts: values: 20_000`'),
    'readExpose.draft.exposed': passing('the values of one file: `limits.ts: values: 20_000`'),
    'readHosts.draft.settings': own('one setting'),
  },
  'apps/cli/src/compose/service/order.ts': {
    'readDependsOn.draft.dependsOn': passing('the values of one file: `limits.ts: values: 20_000`'),
    'readLinks.draft.dependsOn': passing('the values of one file: `limits.ts: values: 20_000`'),
  },
  'apps/cli/src/compose/service/program.ts': { 'draft.aliases': own('one name for each service') },
  'apps/cli/src/compose/service/storage.ts': {
    'addFolder.draft.configFolders': passing('the values of one file: `limits.ts: values: 20_000`'),
    'setLocalTime.draft.settings': own('one setting'),
    'addMount.draft.places.volumes': passing('the values of one file: `limits.ts: values: 20_000`'),
    'addBind.draft.mounts': passing('the values of one file: `limits.ts: values: 20_000`'),
    'addMemory.draft.tmpfs': passing('the values of one file: `limits.ts: values: 20_000`'),
    'addMount.draft.volumes': passing('the values of one file: `limits.ts: values: 20_000`'),
  },
  'apps/cli/src/compose/tree-reader.ts': {
    'TreeReader.#anchors': passing('`this.#values > composeLimits.values`'),
  },
  'apps/cli/src/commands/admin/store-backup.ts': {
    'files of openNew': own('one backup that its user names'),
    'files of publish': own('the name of that backup'),
  },
  'apps/cli/src/commands/support-bundle.ts': {
    'files of openNew': own('one bundle that its user names'),
    'files of run': own('that bundle, at most `maxBytes`'),
  },
  'apps/cli/src/support/sections.ts': { 'listFiles.found': own('`found.length >= maxFiles`') },
  'apps/cli/src/production/settings.ts': {
    'readSettings.values': own('the settings of files that its user names'),
    'flatten.into': own('the settings of files that its user names'),
  },
  'apps/cli/src/commands/admin/tokens.ts': { 'files of run': own('one file that its user names') },
  'apps/cli/src/commands/context/add.ts': {
    'run.contexts': own('the contexts that its user adds, at most `contexts.ts: maxContexts`'),
  },
  'apps/cli/src/commands/curl.ts': {
    'readAnswer.chunks': passing('`if (size > maxBodyBytes)`'),
  },
  'apps/cli/src/commands/gps/follow.ts': {
    'run.turn': own('the readings of a receiver that its user names'),
  },
  'apps/cli/src/commands/init.ts': {
    'files of run': own('the files of a template'),
    'files of nameProject': own('the package.json of a template'),
    'files of copyFunctionModules': own('the modules of one project'),
  },
  'apps/cli/src/dev/session.ts': { 'runSession.watcher': own('the files of one build') },
  'apps/cli/src/dev/show.ts': {
    'createShow.sources': own('the modules of one build: `buildLimits.modules`'),
  },
  'apps/cli/src/dev/watch.ts': {
    'watchFolder.more': own('files of packages that its user works on: `buildLimits.modules` in a build'),
    'watchFolder.watcher': own('the same'),
    'watchFolder.files': own('the same'),
    'createFileCheck.modules': lasting('`maxPolledFiles`', 'the next build'),
  },
  'apps/cli/src/commands/service/podman.ts': {
    'files of turnOn': own('one drop-in of systemd, and its folder'),
  },
  'apps/cli/src/commands/service/install.ts': {
    'files of writeUnit': own('one unit, its draft and the one before it'),
    'files of writeSettings': own('the settings and the user of one service'),
  },
  'apps/cli/src/commands/service/logs.ts': {
    'run.errors': passing('`errors.length < 1000`'),
  },
  'apps/cli/src/commands/service/releases.ts': {
    'files of makeFolder': own('the folders of a path that root named'),
    'files of copyRelease': own('one release, which root installs'),
  },
  'apps/cli/src/commands/simulate.ts': {
    'run.out': own('the report of our own simulator'),
    'run.errors': own('the errors of our own simulator'),
  },
  'apps/cli/src/completion.ts': {
    'candidates.next': own('the commands of the CLI'),
    'candidates.add.next.get(prefix) ?? new Set()': own('the commands of the CLI'),
  },
  'apps/cli/src/context/config-folder.ts': { 'files of writePrivateFile': own('one file for each purpose') },
  'apps/cli/src/upgrade/durable.ts': { 'files of setLink': own('a link and its draft') },
  'apps/cli/src/upgrade/lock.ts': { 'files of locked': own('one link') },
  'apps/cli/src/upgrade/stage.ts': {
    'files of stageRelease': own(
      'one archive of at most 1 GiB, removed at the end; older releases are removed before',
    ),
    'files of unpack': own('one release, which was signed'),
  },
  'apps/cli/src/output/write-whole.ts': {
    'files of writeWhole': own('one file that its user names, and its draft'),
  },
  'apps/cli/src/output/terminal.ts': {
    'lines that createTerminal.ask reads': own('what its user types'),
  },
  'apps/cli/src/program.ts': { 'buildProgram.byPath': own('the commands of the CLI') },
  'apps/console/src/parts/map/outlines.ts': {
    'all that loadCountries.json() reads': own('a file of the console'),
  },
  'apps/console/src/parts/map/background/fetch-bounded.ts': {
    'readBounded.parts': passing('at most 4 MB: `size > most`'),
  },
  'apps/console/src/parts/map/clusters.ts': { 'absorb.cluster.counts': own('three numbers') },
  'apps/console/src/parts/map/mark-layer.tsx': {
    'createMarkLayer.shown': lasting('the marks that fit into the map', '`shown.delete`'),
    'createMarkLayer.devices': lasting('the devices of one page of the list', '`devices = newDevices`'),
  },
  'apps/console/src/parts/map/world-map.tsx': { noTrail: own('always empty') },
  'apps/console/src/session/request.ts': {
    'all that wantsNonce.json() reads': own('a refusal of the own service'),
  },
  'apps/console/src/views/devices/bulk.ts': {
    'changeAll.done': passing('the devices that the person selected: `selection.ts: maxSelected = 1000`'),
    'changeAll.failed': passing('the devices that the person selected: `selection.ts: maxSelected = 1000`'),
  },
  'apps/console/src/views/devices/selection.ts': {
    none: own('no code adds to it'),
    'findAll.found': passing('`maxSelected = 1000`'),
  },
  'apps/console/src/parts/download.ts': {
    'all that download.blob() reads': own('what the person exports'),
    'download.document.createElement()': own('one link for each click'),
  },
  'apps/console/src/state/use-places.ts': {
    'all that load.json() reads': passing('the devices of the account: `SelectedPlace[]`'),
    'usePlaces.known.current': lasting('the devices of the account', '`known.current = new Map(`'),
  },
  'apps/simulator/src/drive.ts': { 'drive.located': own('the virtual devices that its user wants') },
  'apps/simulator/src/installation.ts': { 'files of startOwn': own('one folder for each run') },
  'apps/simulator/src/simulate.ts': { 'enrolAll.sessions': own('the virtual devices that its user wants') },
  'apps/simulator/src/wire.ts': {
    'createWire.idle': lasting('`open < connections`', '`idle.pop`'),
    'createWire.waiting': lasting('`waiting.length < maxWaiting`', '`waiting.shift`'),
    'createWire.Line.#text': lasting('`maxAnswer`', "`this.#text = ''` with each answer"),
  },
  'apps/stack/src/stack.ts': {
    'startStack.parts': own('one for each daemon'),
    'files of startStack': own('one file with the addresses of the daemons'),
  },
  'apps/stack/src/supervise.ts': {
    'supervise.failures': lasting('`giveUp.failures`', 'those older than `giveUp.withinMs`'),
  },
}
