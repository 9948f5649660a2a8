/**
 * The port of the engines: what runs an image. Two implementations, `function` and `oci`, pass one suite. An engine knows
 * nothing of desired state, restarts or routes; it starts instances, reports when they end, and leaves nothing behind.
 */
import type {
  ContainerSettings,
  EndReason,
  Methods,
  PortMapping,
  ResultOf,
  UsedConfig,
} from '@selvedge/protocol'
import type { MemberNames } from '../apps/member-names.ts'
import type { Content } from '../deployments/deployments.ts'
import type { Asking } from '../grants/granted-to.ts'
import type { ServiceSecret } from '../secrets/secrets.ts'
import type { ScheduledEvent, ServiceInfo, StorageChange } from './function/control.ts'

export type { ScheduledEvent, ServiceInfo, StorageChange, StorageItem } from './function/control.ts'

/** Where an instance answers HTTP: HTTP/1.1, or the protocol of `MCM.PROTOCOL`. */
export type Upstream = { readonly socketPath: string } | TcpUpstream

export interface TcpUpstream {
  readonly host: string
  readonly port: number
  /**
   * Address of this device in the network of the container. A connection from it fails once that network is gone; without it,
   * the device would look for the container's address elsewhere.
   */
  readonly localAddress?: string
}

/** How a running instance gets the storage of its container. */
export interface StorageReader {
  /** Gets a part of what is stored, or a change by another instance. Resolves once the instance has room for more. */
  receive(change: StorageChange): Promise<void>
  /**
   * Whether the instance may write from now on. Resolves once it knows; where it may not, once all that it wrote is stored,
   * or it does not answer.
   */
  mayWrite(isAllowed: boolean): Promise<void>
}

/** A running instance's view of its container's storage. It may write where no other instance does, or after `takeOver`. */
export interface StorageSession {
  /** Sends the reader all items, and from then on what other instances change. Resolves after the last item. */
  follow(): Promise<void>
  /** Makes this instance the one that may write, after the one before has stored what it has. */
  takeOver(): Promise<void>
  /** Resolves once the change is on the disk. @throws RpcError `storage_full`; `conflict` where another instance may write */
  write(change: StorageChange): Promise<void>
  close(): void
}

/** What the runtime does for an instance; the socket of a request identifies the instance. */
export interface HostServices {
  openStorage(reader: StorageReader): Promise<StorageSession>
  identityToken(audience: string): { token: string; expiresAt: string }
  /** Serves the instance's own HTTP socket: the local API, identity tokens, other services, allowed hosts. */
  serve(path: string, plan: Pick<Plan, 'id' | 'settings' | 'content'>): Promise<{ close(): Promise<void> }>
}

export type LogStream = 'stdout' | 'stderr' | 'runtime'

/** A file of its app that an instance gets. */
export interface PlanConfig extends UsedConfig {
  /** @throws RpcError `container_failed` if its content is missing */
  read(): Buffer
}

/** One instance to be started. */
export interface Plan {
  /** Container ID as callers know it, `<clientId>-<name>`. */
  readonly id: string
  /** Key of the container, and of what it stores: no two owners have the same. */
  readonly key: string
  readonly dataKey: string
  /** Key of the volumes that it shares with others of its app. Absent: it shares no volume. */
  readonly sharedDataKey?: string
  /** Who wants it, for what the owner of the device allows. */
  readonly asking: Asking
  readonly revision: number
  readonly content: Content
  readonly env: Readonly<Record<string, string>>
  readonly settings: ContainerSettings
  readonly info: ServiceInfo
  readonly host: HostServices
  log(stream: LogStream, text: string): void
  /** Other members of its app, and their names. Absent: it is alone on its networks. */
  readonly members?: MemberNames
  /** @throws RpcError if the container may not start now: the device does not grant what its settings need, or a secret is not set */
  readonly expectAllowed?: () => void
  /**
   * The secrets of the instance, read when it starts. Absent: the settings name no secrets.
   *
   * @throws RpcError `not_found` with the name of one that is not set
   */
  readonly secrets?: () => readonly ServiceSecret[]
  /** Files of its app. Absent: it gets no file. */
  readonly configs?: readonly PlanConfig[]
  /** A line of the program without the values of secrets. Absent: it has no secrets. */
  readonly hideSecrets?: (stream: LogStream, line: string) => string
}

/** How an instance exited. */
export interface Ending {
  readonly reason: EndReason
  /** For the log and the history: with its exit code and its last output. */
  readonly why: string
  /** Exit code of its program; absent if it is unknown, or if the program was stopped. */
  readonly exitCode?: number
  /** Present if it did not exit in the time that it had after it was asked to, and was killed. */
  readonly isForced?: true
}

export interface Instance {
  readonly upstream: Upstream
  /** Where a port of `MCM.PORTS` is; undefined for another port, and without a network. */
  readonly portOf?: (mapping: PortMapping) => TcpUpstream | undefined
  /** The layers that hold it. */
  readonly isolation: readonly string[]
  /** Resolves when it has exited. */
  readonly ended: Promise<Ending>
  /** Bytes in use. */
  memory(): Promise<number | null>
  /** Whether its program still reacts, asked after a request ran into its time limit. */
  responds(): Promise<boolean>
  /**
   * Checks its health by a command of its own. Undefined without one.
   *
   * @returns what is wrong; undefined if it is healthy. Never rejects
   */
  readonly checkHealth?: (timeoutMs: number) => Promise<string | undefined>
  /**
   * Called before the first request: it is the one of its container that writes to the storage from now on. Undefined where
   * there is no storage.
   */
  readonly takeOver?: () => Promise<void>
  /**
   * Gives it the present values of its secrets, and notifies it by a signal. Undefined where it gets them at its start only.
   *
   * @throws RpcError as `Plan.secrets`, and what the engine throws
   */
  readonly renewSecrets?: (signal: string) => Promise<void>
  /**
   * Calls its handler for `scheduled`; undefined if it has no such handler. Resolves once the handler and what it passed to `waitUntil` are
   * complete, and what they stored is on the disk.
   *
   * @throws Error with what it failed with, or that the instance stopped before
   */
  readonly runScheduled?: (event: ScheduledEvent) => Promise<void>
  /** Whether it continues while no runtime runs; the next one adopts it. */
  readonly outlivesRuntime?: true
  /** Ends it gracefully, then by force. Resolves when it is gone. */
  stop(graceSeconds: number): Promise<void>
}

export interface Engine {
  /**
   * Starts an instance; resolves when it listens.
   *
   * @throws RpcError `container_failed` with its last output, `engine_unavailable`
   */
  start(plan: Plan): Promise<Instance>
  /**
   * Whether two instances of the container may not run at once, because the second would use files that the first has open.
   *
   * @throws RpcError where the image can't be read
   */
  needsAlone?(plan: Plan): Promise<boolean>
  /**
   * Why members of an app cannot find each other by name; undefined where they can.
   *
   * @throws RpcError `engine_unavailable`
   */
  missingForNames(): Promise<string | undefined>
  /** An instance of the same plan that an earlier run of the runtime left running. */
  adopt(plan: Plan): Promise<Instance | undefined>
  /**
   * Ends what an earlier run left, but for the instances that are to run, and drops copies of images that are not known.
   *
   * @param running keys of containers that are to run, with their revision
   * @param digests of every image
   */
  recover(running: ReadonlyMap<string, number>, digests: ReadonlySet<string>): Promise<void>
  /** Removes what a container leaves behind: its volumes, for example. */
  removeData(dataKey: string): Promise<void>
  /** Drops the engine's copy of an image, as soon as nothing runs on it. */
  removeImage(digest: string): Promise<void>
  /**
   * Lets go of what it holds, once nothing runs any more.
   *
   * @param isReplaced whether instances that outlive the runtime still run, for the next one
   */
  close(isReplaced: boolean): Promise<void>
  /** For `selvedge doctor`: whether it is there, and which layers hold. */
  describe(): Promise<EngineReport>
}

export type EngineReport = ResultOf<Methods['getEngines']>['oci']
