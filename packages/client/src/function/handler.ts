/** A handler, as services of this API family are written: `mimikModule.exports = (context, request, response) => { … }`. */
import type { ScheduledEvent, WaitUntil } from './scheduled.ts'
import type { FunctionInfo, FunctionSecrets, FunctionStorage, IdentityToken } from './storage.ts'

/** Items, and files that `response.writeMimeFile` answers with. */
export interface HandlerStorage extends FunctionStorage {
  /** @throws Error for content that is not base64, or if the storage is full */
  saveFile(name: string, base64: string): void
  /** @returns false if there is no such file */
  deleteFile(name: string): boolean
}

/** One of the two is called, once. */
export interface Callbacks<Result, Failure> {
  readonly success?: (result: Result) => void
  readonly error?: (failure: Failure) => void
}

export interface HttpResult {
  readonly data: string
  /** 200 to 299. */
  readonly status: number
}

export interface HttpError {
  readonly message: string
  /** 0 without an answer. */
  readonly status: number
  readonly content: string
}

export interface HttpRequest extends Callbacks<HttpResult, HttpError> {
  /** Default: GET. */
  readonly type?: string
  readonly url: string
  readonly authorization?: string
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. */
  readonly data?: unknown
}

export interface EdgeError {
  readonly message: string
  readonly status: number
}

export interface NodesRequest extends Callbacks<{ readonly data: string }, EdgeError> {
  /** `local`: the answer of `GET /mds/v1/nodes`; `account`: the `cipheredNodes` of a cluster that was opened as `local`. */
  readonly type?: string
  /** JSON text of `data` in that answer. */
  readonly data?: string
  /** Access token of the caller. */
  readonly token?: string
}

/** Members that the helper package of this API family adds are not listed. */
export interface HandlerEdge {
  decryptEncryptedNodesJson(request: NodesRequest): void
  /** Calls `error` with the status 501. */
  requestBep(request: Callbacks<unknown, EdgeError> & { readonly code?: string }): void
}

export interface HandlerContext<Env extends object = Readonly<Record<string, string | undefined>>> {
  /** The strings of the deployment's `env`. */
  readonly env: Env
  readonly info: FunctionInfo
  readonly storage: HandlerStorage
  readonly http: { request(request: HttpRequest): void }
  readonly edge: HandlerEdge
  readonly identityToken: (audience: string) => Promise<IdentityToken>
  readonly secrets: FunctionSecrets
  /** Sends an event to the clients of the service. */
  readonly dispatchWebSocketEvent: (event: { readonly type: string; readonly message: unknown }) => void
}

export interface FormField {
  /** `get` calls `get` with the value, `store` stores it as a file; anything else ignores the field. */
  readonly action?: string
  /** Name of the file. */
  readonly path?: string
}

export interface FormCallbacks {
  /** @param filename undefined for a field that is not a file */
  readonly found?: (name: string, filename: string | undefined) => FormField | undefined
  readonly get?: (name: string, value: string) => void
  /** @param size bytes of the file */
  readonly store?: (path: string, size: number) => void
}

export interface HandlerRequest {
  /** Path and query, below the base path of the service. */
  readonly url: string
  readonly method: string
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The `Authorization` header, with `MCM.FORWARD_TOKEN`. */
  readonly authorization: string | undefined
  readonly body: string
  /** @throws Error with the `code` 400 for a form that is not valid */
  handleFormRequest(callbacks: FormCallbacks): void
}

export interface HandlerResponse {
  statusCode: number
  readonly headersSent: boolean
  readonly finished: boolean
  setHeader(name: string, value: string | number | readonly string[]): true
  getHeader(name: string): string | undefined
  removeHeader(name: string): void
  /** As in Node, with or without a text for the status, which HTTP no longer uses. */
  writeHead(status: number, ...rest: readonly unknown[]): HandlerResponse
  write(chunk: string | Uint8Array<ArrayBuffer>): true
  end(chunk?: string | Uint8Array<ArrayBuffer> | null): void
  /** Answers with a file of the storage; 404 without one. */
  writeMimeFile(path: string, mimeType?: string): void
}

/**
 * A handler. It may return before it has answered; a promise that it returns and that rejects is answered with 500.
 *
 * @example
 * ```ts
 * import type { Handler } from '@selvedge/client/function'
 *
 * const handler: Handler = (context, request, response) => {
 *   response.end(`hello ${request.url} on ${context.info.nodeId}`)
 * }
 * mimikModule.exports = handler
 * ```
 */
export type Handler = (context: HandlerContext, request: HandlerRequest, response: HandlerResponse) => unknown

/** Called at the times of `MCM.CRON`. What it throws or rejects with is written to the log. */
export type ScheduledHandler = (event: ScheduledEvent, context: HandlerContext & WaitUntil) => unknown

declare global {
  /** Where a handler puts its function, and one for the event `scheduled` if it has one. */
  var mimikModule: { exports?: Handler; scheduled?: ScheduledHandler }
}
