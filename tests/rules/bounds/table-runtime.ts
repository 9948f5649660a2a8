/** What others can make grow in the runtime. */
import { type Bounds, lasting, own, passing } from './bound.ts'

export const runtime: Bounds = {
  'apps/runtime/src/device/cloud/edge-tokens.ts': {
    'createEdgeTokens.tokens': own('one for each service that the runtime talks to'),
    'createEdgeTokens.running': own('one request for each service that the runtime talks to'),
  },
  'apps/runtime/src/device/device.ts': {
    'document state': own('one account, one fix, one report: a fixed form'),
    'openDevice.followers': own('one for each group that follows the account'),
  },
  'apps/runtime/src/device/join/join.ts': {
    'createJoin.used': own('the keys that the device was given: `used-keys.ts: maxHashes`'),
  },
  'apps/runtime/src/device/signals.ts': {
    'createSignals.listeners': own('one for the events of the API'),
  },
  'apps/runtime/src/api/events/delivery.ts': {
    'createDelivery.due': lasting('the streams: `stream-budget.ts: streamLimits.all`', '`due.delete`'),
    'createDelivery.blocked': lasting(
      'the streams: `stream-budget.ts: streamLimits.all`',
      '`blocked.delete`',
    ),
  },
  'apps/runtime/src/api/events/hub.ts': {
    'createEventHub.streams': lasting('`stream-budget.ts: streamLimits.all`', '`streams.delete`'),
    'createEventHub.write.stream.read': own('one for each topic of the stream'),
  },
  'apps/runtime/src/api/events/log-channel.ts': {
    'createLogChannel.lines': lasting('`stored.lines` and `stored.characters`', '`lines.shift`'),
  },
  'apps/runtime/src/api/events/rooms.ts': {
    'createRooms.rooms': lasting(
      'the topics of the streams: `stream-budget.ts: streamLimits.all`',
      '`rooms.delete`',
    ),
    'createRooms.stale': lasting('the rooms', '`stale.clear`'),
    'createRooms.open.streams': lasting('`stream-budget.ts: streamLimits.all`', '`room.streams.delete`'),
    'createRooms.enter.room.streams': lasting(
      '`stream-budget.ts: streamLimits.all`',
      '`room.streams.delete`',
    ),
  },
  'apps/runtime/src/api/events/subscriptions.ts': {
    'createSubscriptions.subscribe.own.ends': lasting(
      '`stream-budget.ts: streamLimits.ofCaller`',
      '`own.ends.delete`',
    ),
  },
  'apps/runtime/src/device/presence.ts': {
    'createPresence.listeners': own('one for each part that announces the services'),
  },
  'apps/runtime/src/services/containers/all-logs.ts': {
    'createAllLogs.followers': lasting(
      'one for each client with a stream of logs: `stream-budget.ts: streamLimits.all`',
      '`followers.delete`',
    ),
    'createAllLogs.attach.stops': lasting(
      'one for each container of the client that was deployed while the stream is open',
      'the end of the last stream of the client: `followers.delete`',
    ),
  },
  'apps/runtime/src/services/containers/entries.ts': {
    'createEntries.entries': lasting(
      'one for each container, and one while a change of an unknown one runs',
      '`entries.delete` when the container is gone',
    ),
    'createEntries.planOf.entry.log': lasting(
      'the lines of `createContainerLog`: `logs.ts: kept.lines`',
      '`logs.ts: lines.shift`, and the removal of the container',
    ),
    'noteIn.entry.log': lasting(
      'the lines of `createContainerLog`: `logs.ts: kept.lines`',
      '`logs.ts: lines.shift`, and the removal of the container',
    ),
  },
  'apps/runtime/src/services/containers/logs.ts': {
    'createContainerLog.lines': lasting('`kept.lines` and `kept.characters`', '`lines.shift`'),
    'createContainerLog.followers': lasting(
      'one for each response that follows, thus for each connection: `follow-log.ts: log.follow`',
      '`followers.delete` when the response closes',
    ),
  },
  'apps/runtime/src/services/containers/once-runs.ts': {
    'createOnceRuns.runs': passing(
      'one for each deployment of an app under way: `containers.ts: maxQueue` of each',
    ),
  },
  'apps/runtime/src/services/containers/serving.ts': {
    'createServing.draining': lasting(
      'one for each instance that was replaced, until its `deadline`',
      '`draining.delete`',
    ),
    'createServing.isolation': own('the layers of the engine, replaced as a whole'),
  },
  'apps/runtime/src/services/containers/storage-items.ts': {
    'table items': lasting('`NEW.size > NEW.quota`: MCM.STORAGE_MB of the container', '`DELETE FROM items`'),
    'table spaces': lasting('one row for each container', '`DELETE FROM spaces`'),
  },
  'apps/runtime/src/services/containers/storage.ts': {
    'createContainerStorage.spaces': lasting('one for each container with storage', '`spaces.delete`'),
    'createOrder.last': lasting(
      'one for each instance of the container: it asks nothing more while a write is under way, `control-line.ts: at most one question under way`',
      'each that ends: `last = mine.catch`',
    ),
    'createContainerStorage.open.space.sessions': lasting(
      'one for each instance of the container',
      '`space.sessions.delete`',
    ),
  },
  'apps/runtime/src/services/deployments/first-version.ts': {
    'historyOf.all[key] ??= []': passing(
      'the entries of the stored document: `deployments.ts: kept.entries`',
    ),
  },
  'apps/runtime/src/services/deployments/content-in-use.ts': {
    'createContentInUse.held': passing(
      'one for each start of a container, deployment and health check under way: `containers.ts: maxQueue` for each container',
    ),
  },
  'apps/runtime/src/services/turns.ts': {
    'createTurns.last': lasting(
      '`before >= max`: `maxWaiting` callers for each container, `limits.ts: shares` for images; each of them a request',
      '`last.delete` after the last one',
    ),
  },
  'apps/runtime/src/services/engines/function/cgroup.ts': {
    'files of openVersion1.create': lasting('one group for each instance', '`remove` at its end'),
    'files of openVersion2': own('the settings of the group of the runtime'),
    'files of openVersion2.create': lasting('one group for each instance', '`remove` at its end'),
  },
  'apps/runtime/src/services/engines/function/control-line.ts': {
    'createReceiver.collect': passing('`maxValueBytes` of one value'),
    'createCollector.chunks': lasting('`size > limit` ends the function', '`chunks = []` with each value'),
    'createPings.waiting': lasting('one ping a health check, each for `pingTimeoutMs`', '`waiting.delete`'),
  },
  'apps/runtime/src/services/engines/function/instance-folder.ts': {
    'files of createRunFolder': lasting(
      'one folder for each run of the runtime',
      'the next run, which finds it by `noteFile`',
    ),
    'files of createInstanceFolder': lasting(
      'two folders and the sockets of an instance; the function can write to none of them after its start',
      '`removeFolder(path` at its end',
    ),
  },
  'apps/runtime/src/services/engines/function/instance.ts': {
    'startInstance.undo': own('one step for each part of an instance'),
    'launch.undo': own('one step for each part of an instance'),
    'createUndo.steps': own('one step for each part of an instance'),
  },
  'apps/runtime/src/services/engines/function/storage-change.ts': {
    'cutChanges.changes': passing('the changes of one turn, cut to `changeBytes`; they fit in the quota'),
    'cutChanges.small': passing('the changes of one turn, which fit in the quota: `set: Grown[]`'),
  },
  'apps/runtime/src/services/engines/last-output.ts': {
    'createLastOutput.stdout': own('`maxLines`'),
    'createLastOutput.stderr': own('`maxLines`'),
    'createLastLines.last': lasting('`maxLines`, each as long as a line of the log', '`last.shift`'),
  },
  'apps/runtime/src/services/engines/oci/engine-api.ts': {
    'readAll.chunks': passing('`size > maxAnswer` ends the call'),
  },
  'apps/runtime/src/services/engines/oci/engine-images.ts': {
    'createEngineImages.unwanted': lasting(
      'images of this runtime that the engine still has: `repository`',
      '`unwanted.delete` after each removal of a container or image',
    ),
    'engine /images': lasting('one for each OCI image of a container', '`async sweep`'),
  },
  'apps/runtime/src/services/engines/oci/image-config.ts': {
    'readImageConfig.chunks': passing(
      '`archive.ts: draft.size > maxDocument`, `registry.ts: config.size > maxManifest`',
    ),
  },
  'apps/runtime/src/services/engines/oci/label-secret.ts': {
    'files of openLabelSecret': own('one file of 32 bytes'),
  },
  'apps/runtime/src/services/engines/oci/networks.ts': {
    'removeUnusedNetworks.names': passing('one for each network of this runtime: `labels.owner`'),
    'engine /networks/create': lasting(
      'one for each OCI container: `Name: name`',
      '`removeNetwork`, and `removeUnusedNetworks` at the start',
    ),
  },
  'apps/runtime/src/services/engines/oci/engine-traits.ts': {
    'createKnownTraits.known': own('one for each engine socket: Docker, Podman'),
  },
  'apps/runtime/src/services/engines/oci/disk-watch.ts': {
    'createDiskWatch.watched': lasting(
      'one for each OCI container: `watched.add(container)`',
      '`watched.delete(container)` when it has exited',
    ),
  },
  'apps/runtime/src/services/engines/oci/own-files.ts': {
    'files of write': lasting(
      'six for each OCI container: `ownFileNames`, of at most 64 hosts each (MCM.HOSTS), and `timeFileNames`',
      '`socket-folder.ts: removeFolder` when it has exited',
    ),
  },
  'apps/runtime/src/services/engines/oci/users.ts': {
    'createUsersOf.reserved': lasting(
      'one for each OCI container that starts: `reserved.add(entry)`',
      '`release` when it has started or failed',
    ),
  },
  'apps/runtime/src/services/engines/oci/oci-container.ts': {
    'engine /containers/create': lasting('one for each OCI container', '`removeContainer`'),
  },
  'apps/runtime/src/services/engines/oci/create-volumes.ts': {
    'engine /volumes/create': lasting(
      'the volumes that MCM.VOLUMES and MCM.APP_VOLUMES name: `volumes.ts: volumesOf`; their sizes have no limit. Those of the image: 16, limited by MCM.ROOT_MB',
      '`oci-engine.ts: removeData` when the container is removed',
    ),
  },
  'apps/runtime/src/api/http2/response-headers.ts': {
    'fieldsOf.fields': passing('one response: `response-reader.ts: maxHeadBytes`'),
    'fieldsOf.before': passing('one response: `response-reader.ts: maxHeadBytes`'),
  },
  'apps/runtime/src/api/http2/session.ts': {
    'Session.#waiting': lasting(
      '`maxConcurrentStreams: limits.streams`',
      '`this.#waiting = undefined`, in `resume`',
    ),
  },
  'apps/runtime/src/api/http2/stream-socket.ts': {
    'StreamSocket.#trailers': lasting('`chunked-body.ts: maxTrailerBytes`', '`this.#trailers = trailers`'),
  },
  'apps/runtime/src/services/containers/ask-http2.ts': {
    'collect.parts': passing('`bytes < maxBody`'),
    'collect.fields': passing('`http2-client.ts: maxHeaderListSize: 64 * 1024`'),
  },
  'apps/runtime/src/services/gateway/http2-carrier.ts': {
    'requestFields.fields': passing('one request: `server.ts: maxHeaderSize: 16 * 1024`'),
    'requestFields.before': passing('one request: `server.ts: maxHeaderSize: 16 * 1024`'),
    'headOf.pairs': passing('one answer: `http2-client.ts: maxHeaderListSize: 64 * 1024`'),
  },
  'apps/runtime/src/services/gateway/http2-sessions.ts': {
    'createHttp2Sessions.all': lasting('`maxSessions` for each container', '`all.delete` when it closes'),
    'createHttp2Sessions.open.own': lasting('`own.length < maxSessions`', '`own.splice` when it closes'),
  },
  'apps/runtime/src/services/gateway/connections.ts': {
    'createConnections.all': lasting(
      '`maxIdle` for each container, and one for each request under way',
      '`all.delete` when the socket closes',
    ),
    'createConnections.keep.waiting': lasting('`waiting.length >= maxIdle`', '`waiting?.pop`'),
  },
  'apps/runtime/src/device/metering/usage-totals.ts': {
    'document of openUsageTotals': own(
      'one count for each purpose that the program names, for a day and a month',
    ),
  },
  'apps/runtime/src/services/gateway/headers.ts': {
    none: own('the empty set that stands for "no names"'),
  },
  'apps/runtime/src/services/gateway/host-socket.ts': {
    'readJson.text': passing('`text.length > maxBody`'),
  },
  'apps/runtime/src/services/gateway/tunnels/tunnels.ts': {
    'createTunnels.clients': lasting(
      '`count.underWay >= limits.connections`',
      '`clients.delete` when it closes',
    ),
    'join.client': passing('`client.unshift(head)` once: what came behind a request that the server reads'),
  },
  'apps/runtime/src/services/gateway/response-reader.ts': {
    'Reader.#unfinishedHead': lasting(
      '`maxHeadBytes`',
      '`#unfinishedHead = undefined` when the head is complete',
    ),
    'HeadPieces.#pieces': lasting('`maxHeadBytes`', '`#unfinishedHead = undefined`, with all its pieces'),
  },
  'apps/runtime/src/services/gateway/chunked-body.ts': {
    'ChunkedBody.trailers': lasting('`maxTrailerBytes`', 'the end of the body: `isComplete`'),
    'ChunkedBody.#data': lasting('the bytes of one read of the socket', '`#data = []` after each'),
  },
  'apps/runtime/src/location/gps/publisher-track.ts': {
    'createTrack.unsent': lasting('`slice(1 - maxFixes)`', '`unsent.splice` when they are sent'),
  },
  'apps/runtime/src/location/gps/publisher-waiters.ts': {
    'createWaiters.waiters': lasting('one for each call of updateGps, for `timeoutMs`', '`waiters.delete`'),
  },
  'apps/runtime/src/api/handlers.ts': {
    'createHandlers.sharing': own('one setting for each audience'),
    'createHandlers.secrets': own('no collection: it calls `service-secrets.ts: secrets.set`'),
  },
  'apps/runtime/src/services/gateway/closable-frames.ts': {
    'createClosableFrames.stream': passing('the buffers of a Transform, and one `closeFrame`'),
  },
  'apps/runtime/src/services/gateway/event-end.ts': {
    'createEventEnd.tail': passing('four characters: `.slice(-4)`'),
  },
  'apps/runtime/src/services/engines/oci/host-guard.ts': {
    'guardWith.guarded': lasting('one for each OCI container that runs', '`guarded.delete`'),
  },
  'apps/runtime/src/services/engines/oci/outbound/namespace.ts': {
    'run.problem': passing('`slice(0, maxError)`'),
  },
  'apps/runtime/src/services/engines/oci/outbound/opened.ts': {
    'createOpened.ends': lasting(
      '`ends.size + added.length > maxOpened`',
      '`ends.delete(key)` after their time',
    ),
    'createOpened.last': lasting(
      'one for each question under way: `resolver.ts: underWay.size >= limits.underWay`',
      'each that ends: `last = mine.catch`',
    ),
  },
  'apps/runtime/src/services/engines/oci/outbound/outbound.ts': {
    'createOutbound.limited': lasting('one for each OCI container that runs', '`limited.delete(name)`'),
    'createOutbound.members': own('no collection: it calls `members.ts`'),
  },
  'apps/runtime/src/services/engines/oci/outbound/resolver.ts': {
    'createAnswering.underWay': lasting('`underWay.size >= limits.underWay`', '`underWay.delete`'),
    'createAnswering.answers': lasting('`answers.size >= stored.answers`', '`answers.delete(oldest)`'),
    'createAnswering.noted': lasting('`noted.size < maxNoted`', 'the exit of its container'),
  },
  'apps/runtime/src/services/ports/destination.ts': {
    'createRoom.all': lasting('`all.size < max`', '`all.delete`'),
  },
  'apps/runtime/src/services/ports/held-ports.ts': {
    'createHeldPorts.held': lasting(
      'the ports of the containers: `ports.ts: maxPorts` of each',
      '`held.delete`',
    ),
  },
  'apps/runtime/src/services/ports/ports.ts': {
    'createPorts.wanted': lasting(
      'the ports of the containers: `ports.ts: maxPorts` of each',
      '`wanted = wantedBy` with each change',
    ),
    'createPorts.claimed': lasting('the ports of deployments under way', '`claimed.delete`'),
    'createPorts.changing': lasting(
      'one for each deployment under way: `containers.ts: maxQueue`',
      'each that ends: `changing = mine.catch`',
    ),
  },
  'apps/runtime/src/services/ports/tcp-port.ts': {
    'openTcpPort.connections': lasting('`connections.size < maxConnections`', '`connections.delete`'),
  },
  'apps/runtime/src/services/ports/udp-port.ts': {
    'createSessions.sessions': lasting('`sessions.size >= maxSessions`', '`sessions.delete`'),
    'openUdpPort.pass.session.waiting': lasting(
      '`session.waiting.length >= maxWaiting`',
      '`waiting.splice(0)`',
    ),
  },
  'apps/runtime/src/services/images/admit.ts': {
    'inspectImage.extra': passing('one file for each layer: `manifest.ts: layers: 200`'),
  },
  'apps/runtime/src/services/images/archive.ts': {
    'readArchive.links': passing('`tar-stream.ts: entries: 200_000`'),
    'readArchive.drafts': passing('`tar-stream.ts: entries: 200_000`, and the bytes of images.maxSize'),
  },
  'apps/runtime/src/services/images/blobs.ts': {
    'files of openBlobs.draft': lasting(
      'images.maxSize for each of `limits.ts: shares`, down to the reserve of the disk: `disk.ts: createDiskGuard`',
      '`discard`, `keepOnly`, and the next start for what is incomplete',
    ),
  },
  'apps/runtime/src/services/images/evictable.ts': {
    'evictableFor.spent': passing('one for each project with an image: `limits.ts: maxImages`'),
  },
  'apps/runtime/src/services/images/partials.ts': {
    'createFiles.files': lasting(
      '`files.size <= maxFiles`',
      '`dropOld`, after images.partialAge at the latest',
    ),
    'createFiles.removals': passing('one for each file: `files.size <= maxFiles`'),
    'openPartials.inUse': passing('201 layers for each of `limits.ts: onDevice: 64` pulls'),
    'openPartials.begin.own': passing('201 layers of one of `limits.ts: onDevice: 64` pulls'),
  },
  'apps/runtime/src/services/images/registry-pulls.ts': {
    'openRegistryPulls.continued': passing('`limits.ts: onDevice: 64` interrupted pulls'),
  },
  'apps/runtime/src/services/images/progress.ts': {
    'createProgress.waits': passing('one for each of `at-once.ts: ofPull: 3` downloads'),
    'createProgress.rate': passing('`samples.length > sampling.samples`'),
    'createRate.samples': passing('`samples.length > sampling.samples`'),
  },
  'apps/runtime/src/services/images/pulls.ts': {
    'createPulls.underWay': passing('`limits.ts: onDevice: 64`'),
  },
  'apps/runtime/src/services/images/registry/http-get.ts': {
    'readText.chunks': passing('`size > maxBytes`'),
  },
  'apps/runtime/src/services/images/registry/registry.ts': {
    'pullImage.drafts': passing('`imageLimits.layers` and the configuration'),
  },
  'apps/runtime/src/services/images/registry/at-once.ts': {
    'createTogether.answers': passing('one for each of `ofPull: 3` downloads'),
  },
  'apps/runtime/src/services/images/registry/challenges.ts': {
    'readChallenges.parameters': passing('`parameters.size < limits.parameters`'),
  },
  'apps/runtime/src/services/images/registry/sources.ts': {
    'openSources.failures': passing('`failures.length < maxFailures`'),
    'openSources.away': own('mirrors of the settings'),
    'openSources.sources': own('mirrors of the settings, and the registry'),
  },
  'apps/runtime/src/services/images/registry/token-server.ts': {
    'requestToken.url.searchParams': own('two parameters'),
  },
  'apps/runtime/src/services/images/tar-stream.ts': {
    'peek.start': passing('`start.length < startBytes`'),
    'readTar.working': passing('`limits.entries`; an entry is read when the one before is stored'),
  },
  'apps/runtime/src/services/images/downloads.ts': {
    'createDownloads.known': lasting('`maxListed`', '`known.delete`'),
  },
  'apps/runtime/src/services/images/stored-uploads.ts': {
    'createUses.inUse': passing(
      'one for each deployment and each part of an upload: `limits.ts: archives` and `uploads`',
    ),
    'openStoredUploads.received': own('the map of `createReceived`'),
    'createReceived.received': lasting(
      '`maxUploads` and `maxUsedUp`',
      '`received.delete`, after images.partialAge at the latest',
    ),
  },
  'apps/runtime/src/services/images/upload-notes.ts': {
    'openUploadNotes.read.files': own('the names in the folder, which only the runtime writes'),
  },
  'apps/runtime/src/services/images/uploads.ts': {
    'files of openUploads.begin': lasting('`stored.store`', 'it removes others: see stored-uploads.ts'),
  },
  'apps/runtime/src/location/link-local/browser.ts': {
    'createBrowser.entries': lasting('`makeRoom`', '`entries.delete` at the end of its TTL, or for another'),
    'createBrowser.sealedSenders': lasting('one for each entry', '`sealedSenders = new Set` with each sweep'),
  },
  'apps/runtime/src/location/link-local/budget.ts': {
    'createBudget.senders': lasting('`senders.size > maxSenders`', '`senders.delete`'),
  },
  'apps/runtime/src/location/link-local/dns.ts': {
    'Names.#known': passing('one for each name of a packet: `max.entries`'),
  },
  'apps/runtime/src/location/link-local/link-local.ts': {
    'openLinkLocal.networks': own('the networks of the device, replaced as a whole'),
  },
  'apps/runtime/src/location/link-local/multicast.ts': {
    'createMulticast.sockets': own('the networks of the device, replaced as a whole'),
  },
  'apps/runtime/src/location/link-local/one-at-a-time.ts': {
    'createOneAtATime.last': own('the timers of the program, and deployments'),
  },
  'apps/runtime/src/location/link-local/troubles.ts': {
    'createTroubles.networks': own('the networks of the device'),
  },
  'apps/runtime/src/location/link-local/answers.ts': {
    'createAnswers.plan.schedule.pending': own('five kinds of records'),
  },
  'apps/runtime/src/location/link-local/responder.ts': {
    'createResponder.defences': own('one for each network of the device'),
  },
  'apps/runtime/src/location/nodes/last-known.ts': {
    'document of openLastKnown': lasting('`slice(1 - maxAnswers)`', 'each newer answer'),
  },
  'apps/runtime/src/api/openrpc-documents.ts': {
    'createOpenRpcDocuments.documents': own('one for each own URL: with and without TLS'),
  },
  'apps/runtime/src/services/engines/function/scheduled-runs.ts': {
    'createScheduledRuns.waiting': lasting(
      'one run of a function at a time: `runs.ts: underWay.get(key)`',
      '`waiting.delete`, and `giveUp` with the instance',
    ),
  },
  'apps/runtime/src/services/engines/function/platform/scheduled.ts': {
    'runScheduled.tasks': own('the memory of the function is limited from outside'),
  },
  'apps/runtime/src/services/schedules/runs.ts': {
    'createRuns.underWay': lasting(
      'one for each container: `requirements.ts: maxContainers`',
      '`underWay.delete`',
    ),
    'createOutcomes.lasts': lasting(
      'one for each container: `requirements.ts: maxContainers`',
      '`lasts.delete`',
    ),
  },
  'apps/runtime/src/services/schedules/followed.ts': {
    'createFollowed.all': lasting(
      'one for each container: `requirements.ts: maxContainers`',
      '`all = await followedOf` with each change',
    ),
  },
  'apps/runtime/src/services/schedules/schedules.ts': {
    'createChecks.checking': lasting(
      'one for each change of a container: `containers.ts: maxQueue` of each',
      'each that is complete',
    ),
  },
  'apps/runtime/src/services/schedules/start-slots.ts': {
    'createStartSlots.slots': own('`limits.atOnce` of them'),
    'createStartSlots.slots.[]': lasting(
      'one start of each function: `runs.ts: underWay.get(key)`',
      'each that is complete, or lasts longer than `slowMs`',
    ),
  },
  'apps/runtime/src/services/schedules/handled-times.ts': {
    'document schedules': lasting(
      'one for each container: `requirements.ts: maxContainers`',
      '`followed.ts: changedTimes`, when the container is gone',
    ),
  },
  'apps/runtime/src/services/deployments/held-paths.ts': {
    'document held-paths': lasting(
      '`path-owners.ts: maxHeld` of each project, and the projects of the account',
      '`path-owners.ts: heldNow`, after a day; `path-owners.ts: forget`, when the account leaves',
    ),
  },
  'apps/runtime/src/services/apps/stored-apps.ts': {
    'document apps': lasting(
      '`requirements.ts: maxApps`, with the characters of each',
      '`apps.ts: remove` and `apps.ts: forget`, when the account leaves',
    ),
  },
  'apps/runtime/src/services/apps/release-files.ts': {
    'createReleaseFiles.known': lasting(
      'the present release of each app and two others: `requirements.ts: maxApps`',
      '`known.delete` and `known.set`, when the app is deployed again, removed or needs room',
    ),
  },
  'apps/runtime/src/services/apps/app-secret-values.ts': {
    'setValues.secrets': own('no collection: it calls `secrets.ts: store.update`'),
  },
  'apps/runtime/src/services/apps/apps.ts': {
    'createApps.deploying': lasting(
      'one for each deployment that is under way: `attempts.ts: onDevice: 64`',
      '`deploying.delete`',
    ),
  },
  'apps/runtime/src/services/apps/attempts.ts': {
    'createAttempts.attempts': lasting(
      'those under way: `onDevice: 64`; those that are complete: `onDevice: 100`',
      '`attempts.delete(key)`, when newer ones are complete',
    ),
  },
  'apps/runtime/src/services/apps/deploy-app.ts': {
    'deployApp.set': passing('one for each secret of a plan: `plan.ts: secrets: 64`'),
  },
  'apps/runtime/src/services/engines/oci/config-files.ts': {
    'files of makeFolders': lasting(
      'folders of the files, which have paths of 200 characters: `configs.ts: maxConfigs` for each container that runs',
      '`remove`, and `removeOtherConfigFiles` at the next start',
    ),
    'files of write': lasting(
      '`plan.ts: serviceConfigBytes` for each container that runs: `requirements.ts: maxContainers`',
      '`remove`, and `removeOtherConfigFiles` at the next start',
    ),
  },
  'apps/runtime/src/services/engines/oci/outbound/members.ts': {
    'inOrder.joined.last': own('one promise: the last change'),
    'open.joined.opened': lasting(
      'the instances of the members of one app: `plan.ts: appPlanLimits.services`, each twice during a deployment',
      '`close`, when the instance has exited',
    ),
    'createMembers.all': lasting(
      'one for each instance of a member: `requirements.ts: maxContainers`, each twice during a deployment',
      '`remove`, when the instance has exited',
    ),
  },
  'apps/runtime/src/services/engines/oci/given.ts': {
    'holdGiven.held': passing('`lists.ts: maxGiven` devices and as many folders'),
  },
  'apps/runtime/src/services/engines/oci/held-path.ts': {
    'holdOnLinux.parts': passing('`maxLinks` links, each with the parts of its target'),
  },
  'apps/runtime/src/services/engines/oci/secret-files.ts': {
    'files of secretsFolder': own('one folder for each state folder'),
    'files of openSecretFiles.replace': lasting(
      'the secrets of the settings: `lists.ts: maxGiven` for each instance',
      '`remove`, and `removeOtherFiles` at the next start',
    ),
  },
  'apps/runtime/src/services/secrets/service-secrets.ts': {
    'createServiceSecrets.secrets': own('no collection: it calls `secrets.ts: store.update`'),
  },
  'apps/runtime/src/services/secrets/stored-secrets.ts': {
    'document secrets': lasting(
      '`room.ts: limits`',
      '`secrets.ts: without`, and `secrets.ts: forget` when the account leaves',
    ),
  },
  'apps/runtime/src/services/secrets/masks.ts': {
    'createMask.continued': own('the streams of an instance: standard output, standard error'),
    'createMask.values': lasting('`maxValues`', '`slice(0, maxValues)`'),
  },
  'apps/runtime/src/services/containers/renewals.ts': {
    'createRenewals.waiting': lasting('one for each container', '`waiting.delete`'),
  },
  'apps/runtime/src/services/services.ts': {
    'document deployments': lasting(
      '`requirements.ts: maxContainers` and `limits.ts: maxImages`, and `deployments.ts: kept.removed` histories',
      '`deployments.ts: withoutUnused`; the image that is unused the longest makes room for a new one',
    ),
  },
  'apps/runtime/src/device/tokens/authorize.ts': {
    'createVerify.remember.of': passing('`maxRefused`; the others end with their verification'),
    'derive.of': passing(
      '`users.ts: userLimits` of each token in the cache of the verifier, with which it ends',
    ),
  },
  'apps/runtime/src/device/tokens/lasting.ts': {
    'createLastingAnswers.watched': lasting(
      'one a request that is under way: the connections of the listeners',
      '`watched.pop`, when the answer ends',
    ),
  },
  'apps/runtime/src/device/leases/confirmations.ts': {
    'createConfirmations.confirmed': own('the issuers of the configuration'),
  },
  'apps/runtime/src/device/leases/lease-record.ts': {
    'document leases': lasting(
      '`maxUses` sign-ins, and the issuers of the configuration',
      '`withoutReported`',
    ),
  },
  'apps/runtime/src/device/tokens/tenants.ts': {
    'openTenants.unstored': own('the issuers of the configuration'),
    'openTenants.refused': own('the issuers of the configuration'),
    'openTenants.mark.issuersOf': own('the issuers of the configuration'),
  },
  'apps/runtime/src/device/tokens/revocations.ts': {
    'createRevocations.troubled': own('one for each notice and issuer of the configuration'),
    'createRevocations.onTrouble.issuersOf': own('the issuers of the configuration'),
    'document revocations': lasting(
      'the list of each issuer of the configuration: `node-fetch.ts: maxAnswerBytes`',
      'each newer list',
    ),
  },
}

/** The program inside the sandbox of a function: what grows there counts against MCM.MEMORY_MB of its container. */
export const sandbox: Bounds = {
  'apps/runtime/src/services/engines/function/platform/caches.ts': {
    'createCaches.entries': own('1,000 responses, and 16 MiB'),
    'createCaches.names': own('16 names'),
    'readWithin.parts': own('4 MiB'),
    'all that readWithin.arrayBuffer() reads': own('4 MiB'),
  },
  'apps/runtime/src/services/engines/function/platform/channel.ts': {
    'openChannel.unsent': own('the memory of the function is limited from outside'),
    'openChannel.waiting': own('the memory of the function is limited from outside'),
    'openChannel.long': own('the memory of the function is limited from outside'),
  },
  'apps/runtime/src/services/engines/function/platform/event-sockets.ts': {
    'createEventSockets.sockets': lasting('`sockets.size >= eventLimits.sockets`', '`sockets.delete`'),
  },
  'apps/runtime/src/services/engines/function/platform/files/descriptors.ts': {
    'createDescriptors.opened': lasting('`opened.size >= tree.limits.descriptors`', '`opened.delete`'),
    'createDescriptors.read.target': own('the buffer of the function'),
    'createDescriptors.write.file.bytes': own('`tree.ts: limits.bytes`'),
  },
  'apps/runtime/src/services/engines/function/platform/files/folders.ts': {
    "removing.rm.fileError('EISDIR', 'rm', { path })": own('one code'),
  },
  'apps/runtime/src/services/engines/function/platform/files/handle.ts': {
    'files of createHandles.open.createWriteStream': own('files in memory: `tree.ts: limits.bytes`'),
  },
  'apps/runtime/src/services/engines/function/platform/files/module.ts': {
    'callbackError.argumentError(`the last argument of ${name} is a function: use ${name}Sync or fs.promises without one`)':
      own('one code'),
  },
  'apps/runtime/src/services/engines/function/platform/files/operations.ts': {
    'files of wholeFiles.appendFile': own('files in memory: `tree.ts: limits.bytes`'),
    'files of wholeFiles.copyFile': own('files in memory: `tree.ts: limits.bytes`'),
  },
  'apps/runtime/src/services/engines/function/platform/files/streams.ts': {
    'prepare.stream': own('the memory of the function is limited from outside'),
    'createReads.ReadStream.stream': own('the memory of the function is limited from outside'),
  },
  'apps/runtime/src/services/engines/function/platform/files/tree.ts': {
    'createTree.root.children': own('one folder'),
    'createTree.make.place.folder.children': lasting('`nodes >= limits.nodes`', '`folder.children.delete`'),
    'placeFixed.folder.children': lasting(
      '`nodes + names.length > limits.nodes`',
      '`folder.children.delete`',
    ),
    'createTree.move.folder.children': lasting('`nodes >= limits.nodes`', '`folder.children.delete`'),
  },
  'apps/runtime/src/services/engines/function/platform/names.ts': {
    'createNames.PromiseResolver.prototype': own('the methods of Node.js'),
    'createNames.CallbackResolver.prototype': own('the methods of Node.js'),
  },
  'apps/runtime/src/services/engines/function/platform/handler.ts': {
    'all that readRequest.arrayBuffer() reads': own('the memory of the function is limited from outside'),
  },
  'apps/runtime/src/services/engines/function/platform/handler-response.ts': {
    'createHandlerResponse.parts': own('the memory of the function is limited from outside'),
  },
  'apps/runtime/src/services/engines/function/platform/http-request.ts': {
    'readAnswer.parts': passing('`size > maxAnswerBytes`'),
  },
  'apps/runtime/src/services/engines/function/platform/jx-parse.ts': {
    'readValue.array': own('the memory of the function is limited from outside'),
  },
  'apps/runtime/src/services/engines/function/platform/jx-write.ts': {
    'writeJson.path': passing('`path.length >= maxDepth`'),
  },
  'apps/runtime/src/services/engines/function/platform/host.ts': {
    'hostFunction.source': own('its own program, sent by the runtime'),
    'hostFunction.background': own('the memory of the function is limited from outside'),
    'hostFunction.secrets': own('the secrets of the settings: `lists.ts: maxGiven`'),
  },
  'apps/runtime/src/services/engines/function/platform/servers/listen.ts': {
    'createHandle.getsockname.shown': own('one address'),
  },
  'apps/runtime/src/services/engines/function/platform/sockets/handle.ts': {
    'createHandle.socket': own('the memory of the function is limited from outside'),
    'showPeer.shown': own('one address'),
    'endReading.socket': own('the memory of the function is limited from outside'),
    'deliverTo.target': own('the buffer of the function'),
  },
  'apps/runtime/src/services/engines/function/platform/source-map.ts': {
    digits: own('the digits of base64'),
  },
  'apps/runtime/src/services/engines/function/platform/storage.ts': {
    'createStorage.items': own('the quota of the storage'),
    'createStorage.drafts': own('the memory of the function is limited from outside'),
    'createStorage.touched': own('the quota of the storage'),
  },
  'apps/runtime/src/services/engines/function/platform/wasm-files.ts': {
    'openFiles.files': own('the quota of the storage'),
    'openFiles.before': own('the quota of the storage'),
  },
  'apps/runtime/src/services/engines/function/platform/wasm.ts': {
    'all that hostWasm.arrayBuffer() reads': own('the memory of the function is limited from outside'),
    'hostWasm.output': own('the memory of the function is limited from outside'),
  },
}
