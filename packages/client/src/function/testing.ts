/**
 * Calls functions in tests, without a device. The storage is in memory and has no limits; requests go to what the test gives.
 *
 * @module
 */

import type {
  Handler,
  HandlerContext,
  HandlerRequest,
  HandlerResponse,
  HttpRequest,
  ScheduledHandler,
} from './handler.ts'
import type { ScheduledEvent } from './scheduled.ts'
import type { FunctionInfo, FunctionSecrets, FunctionStorage, IdentityToken, VisitItem } from './storage.ts'
import type { Worker, WorkerContext } from './worker.ts'

export interface TestOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly info?: Partial<FunctionInfo>
  /** The secrets of the function, by name. */
  readonly secrets?: Readonly<Record<string, string>>
  /** Items of the storage; use one map in several calls for what lasts between them. */
  readonly items?: Map<string, string>
  /** Answers `context.http.request` of a handler. Default: 501. */
  readonly http?: (request: HttpRequest) => { readonly status: number; readonly data?: string }
}

export interface TestRequest {
  /** Default: GET. */
  readonly method?: string
  /** Path and query. Default: `/`. */
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * Calls a module worker, and waits for what it passes to `waitUntil`.
 *
 * @example
 * ```ts
 * import { callWorker } from '@selvedge/client/function/testing'
 *
 * const worker = { fetch: () => new Response('hello') }
 * console.log(await (await callWorker(worker, { url: '/a' })).text())
 * ```
 */
export async function callWorker(
  worker: Worker,
  { method = 'GET', url = '/', headers = {}, body }: TestRequest = {},
  options: TestOptions = {},
): Promise<Response> {
  if (!worker.fetch) throw new Error('the worker has no fetch')
  const { context, settled } = workerContext(options)
  const request = new Request(new URL(url, 'http://localhost'), {
    method,
    headers,
    ...(body !== undefined && { body }),
  })
  const answer = worker.fetch.bind(worker)
  const response = await answer(request, { ...options.env }, context)
  await settled()
  return response
}

/**
 * Calls the handler of a module worker for `scheduled`, and waits for what it passes to `waitUntil`.
 *
 * @throws what the handler throws, and what the promises of `waitUntil` reject with
 *
 * @example
 * ```ts
 * import { callScheduled } from '@selvedge/client/function/testing'
 *
 * const items = new Map<string, string>()
 * await callScheduled({ scheduled: (event, env, ctx) => ctx.storage.setItem('last', event.cron) }, {}, { items })
 * console.log(items.get('last'))
 * ```
 */
export async function callScheduled(
  worker: Worker,
  event: TestEvent = {},
  options: TestOptions = {},
): Promise<void> {
  if (!worker.scheduled) throw new Error('the worker has no handler for scheduled')
  const { context, settled } = workerContext(options)
  await worker.scheduled.bind(worker)(scheduledEvent(event), { ...options.env }, context)
  await settled()
}

/** A time for `callScheduled` and `callScheduledHandler`. */
export interface TestEvent {
  /** Default: every minute. */
  readonly cron?: string
  /** Unix milliseconds. Default: 0. */
  readonly scheduledTime?: number
}

const scheduledEvent = ({ cron = '* * * * *', scheduledTime = 0 }: TestEvent): ScheduledEvent => ({
  ...{ type: 'scheduled', cron, scheduledTime },
  noRetry: () => undefined,
})

/** Collects what is passed to `waitUntil`; more may come while it is awaited. */
function createBackground() {
  const tasks: Promise<unknown>[] = []
  return {
    waitUntil: (task: Promise<unknown>) => void tasks.push(task),
    async settled(): Promise<void> {
      for (let at = 0; at < tasks.length; at++) await tasks[at]
    },
  }
}

function workerContext(options: TestOptions) {
  const { waitUntil, settled } = createBackground()
  const context: WorkerContext = {
    info: { ...info, ...options.info },
    storage: createStorage(options.items).storage,
    identityToken,
    secrets: secretsOf(options),
    waitUntil,
    passThroughOnException: () => undefined,
  }
  return { context, settled }
}

export interface HandlerAnswer {
  readonly status: number
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Calls a handler, and resolves when its response is complete.
 *
 * @throws what the handler throws
 *
 * @example
 * ```ts
 * import { callHandler } from '@selvedge/client/function/testing'
 *
 * const { status, body } = await callHandler((context, request, response) => response.end('hello'))
 * console.log(status, body)
 * ```
 */
export function callHandler(
  handler: Handler,
  { method = 'GET', url = '/', headers = {}, body = '' }: TestRequest = {},
  options: TestOptions = {},
): Promise<HandlerAnswer> {
  const { context, files } = handlerContext(options)
  const lowerCase = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const request: HandlerRequest = {
    ...{ method, url, body, headers: lowerCase, authorization: lowerCase.authorization },
    handleFormRequest() {
      throw new Error('forms are read on a device only')
    },
  }
  return new Promise((resolve, reject) => {
    Promise.resolve()
      .then(() => handler(context, request, createResponse(files, resolve)))
      .catch(reject)
  })
}

/**
 * Calls a handler for `scheduled`, and waits for what it passes to `waitUntil`.
 *
 * @throws what the handler throws, and what the promises of `waitUntil` reject with
 */
export async function callScheduledHandler(
  handler: ScheduledHandler,
  event: TestEvent = {},
  options: TestOptions = {},
): Promise<void> {
  const { context } = handlerContext(options)
  const { waitUntil, settled } = createBackground()
  await handler(scheduledEvent(event), { ...context, waitUntil })
  await settled()
}

function handlerContext(options: TestOptions) {
  const { storage, files } = createStorage(options.items)
  const context: HandlerContext = {
    env: { ...options.env },
    info: { ...info, ...options.info },
    storage: {
      ...storage,
      saveFile: (name, base64) => void files.set(name, base64),
      deleteFile: (name) => files.delete(name),
    },
    http: { request: (request) => answerRequest(request, options.http) },
    edge: {
      decryptEncryptedNodesJson: ({ error }) =>
        error?.({ message: 'there is no device in a test', status: 501 }),
      requestBep: ({ error }) => error?.({ message: 'there is no device in a test', status: 501 }),
    },
    identityToken,
    secrets: secretsOf(options),
    dispatchWebSocketEvent: () => undefined,
  }
  return { context, files }
}

const info: FunctionInfo = {
  serviceType: 'test',
  nodeId: 'test',
  httpPort: 8083,
  apiRoot: 'http://localhost:8083',
}

const secretsOf = ({ secrets = {} }: TestOptions): FunctionSecrets => ({
  get: (name) => (Object.hasOwn(secrets, name) ? secrets[name]! : null),
})

const identityToken = async (audience: string): Promise<IdentityToken> => ({
  token: `a token of the test for ${audience}`,
  expiresAt: '2100-01-01T00:00:00.000Z',
})

function answerRequest(request: HttpRequest, answer: TestOptions['http']): void {
  const { status, data = '' } = answer?.(request) ?? { status: 501 }
  queueMicrotask(() => {
    if (status >= 200 && status < 300) request.success?.({ status, data })
    else request.error?.({ status, message: `HTTP ${status}`, content: data })
  })
}

function createStorage(items = new Map<string, string>()): {
  storage: FunctionStorage
  files: Map<string, string>
} {
  const tags = new Map<string, string>()
  const remove = (key: string) => {
    items.delete(key)
    tags.delete(key)
  }
  const each = (keys: readonly string[], visit: VisitItem) => {
    for (const key of keys) if (visit(key, items.get(key)!) === false) return
  }
  const tagged = (tag: string) => [...items.keys()].filter((key) => tags.get(key) === tag)
  const removeTagged = (tag: string) => {
    const keys = tagged(tag)
    for (const key of keys) remove(key)
    return keys.length
  }
  const storage: FunctionStorage = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, String(value)),
    setItemWithTag(key, value, tag) {
      items.set(key, String(value))
      tags.set(key, tag)
    },
    updateTag(key, tag) {
      if (items.has(key)) tags.set(key, tag)
      return items.has(key)
    },
    removeItem: remove,
    deleteItemsByTag: removeTagged,
    removeItemsByTag: removeTagged,
    eachItem: (visit) => each([...items.keys()], visit),
    eachItemByTag: (tag, visit) => each(tagged(tag), visit),
  }
  return { storage, files: new Map() }
}

function createResponse(
  files: ReadonlyMap<string, string>,
  resolve: (answer: HandlerAnswer) => void,
): HandlerResponse {
  const headers = new Headers()
  const decoder = new TextDecoder()
  let body = ''
  let isEnded = false
  const write = (chunk: string | Uint8Array) => {
    if (!isEnded) body += typeof chunk === 'string' ? chunk : decoder.decode(chunk)
    return true as const
  }
  return {
    statusCode: 200,
    get headersSent() {
      return isEnded
    },
    get finished() {
      return isEnded
    },
    setHeader(name, value) {
      headers.delete(name)
      for (const each of Array.isArray(value) ? value : [value]) headers.append(name, String(each))
      return true
    },
    getHeader: (name) => headers.get(name) ?? undefined,
    removeHeader: (name) => headers.delete(name),
    writeHead(status, ...rest) {
      this.statusCode = status
      const given = rest.findLast((each) => typeof each === 'object' && each !== null) ?? {}
      for (const [name, value] of Object.entries(given)) this.setHeader(name, value)
      return this
    },
    write,
    end(chunk) {
      if (chunk !== undefined && chunk !== null) write(chunk)
      if (!isEnded) resolve({ status: this.statusCode, headers: Object.fromEntries(headers), body })
      isEnded = true
    },
    writeMimeFile(path, mimeType = 'application/octet-stream') {
      const file = files.get(path)
      this.writeHead(file === undefined ? 404 : 200, { 'Content-Type': mimeType })
      this.end(file === undefined ? '' : atob(file))
    },
  }
}
