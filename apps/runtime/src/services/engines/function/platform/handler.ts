/** The handler convention of this API family: `mimikModule.exports = (context, request, response) => …`. */
import type {
  FunctionSecrets,
  FunctionStorage,
  HandlerContext,
  HandlerRequest,
  IdentityToken,
} from '@selvedge/client/function'
import { eventsHeader, type ServiceInfo } from '../control.ts'
import { decodeBase64 } from './binary-text.ts'
import { createEdge } from './edge.ts'
import { createEventSockets } from './event-sockets.ts'
import { type FormCallbacks, handleForm } from './form.ts'
import { createHandlerResponse } from './handler-response.ts'
import { createHttpRequest } from './http-request.ts'
import { decode } from './own.ts'
import type { HeldStorage } from './storage.ts'

export interface Surroundings {
  readonly env: Readonly<Record<string, string>>
  readonly info: ServiceInfo
  readonly storage: FunctionStorage
  readonly files: HeldStorage['files']
  readonly fetch: typeof globalThis.fetch
  /** For requests to the runtime itself, by path. */
  readonly runtimeFetch: typeof globalThis.fetch
  readonly identityToken: (audience: string) => Promise<IdentityToken>
  readonly secrets: FunctionSecrets
  /** Path of the runtime that opens sealed lists of nodes. */
  readonly openNodesPath: string
}

type Handler = (context: unknown, request: unknown, response: unknown) => unknown

/** The function that serves a request, and the context for what is not a request. */
export function hostHandler(handler: Handler, around: Surroundings) {
  const { env, info, storage, files, fetch, identityToken, secrets } = around
  const events = createEventSockets()
  const edge = createEdge(around)
  const shared = {
    env,
    info,
    storage: { ...storage, ...fileAccess(files) },
    http: { request: createHttpRequest(fetch) },
    identityToken,
    secrets,
    dispatchWebSocketEvent: events.dispatch,
  }

  // Each request has its own: services add members for the caller to them.
  const contextOf = (): HandlerContext => ({ ...shared, edge: { ...edge } })

  const serve = async (request: Request): Promise<Response> => {
    if (request.headers.has(eventsHeader)) return events.accept(request)
    const asked = await readRequest(request, files)
    return new Promise((resolve, reject) => {
      const response = createHandlerResponse(files, resolve, reject)
      Promise.resolve()
        .then(() => handler(contextOf(), asked, response))
        .catch(reject)
    })
  }
  return { serve, contextOf }
}

async function readRequest(request: Request, files: HeldStorage['files']): Promise<HandlerRequest> {
  const { pathname, search } = new URL(request.url)
  const headers = Object.fromEntries(request.headers)
  const body = request.body === null ? new Uint8Array() : new Uint8Array(await request.arrayBuffer())
  let text: string | undefined
  return {
    url: pathname + search,
    method: request.method,
    headers,
    authorization: headers.authorization,
    /** Read when it is used: the text of a form with files would only take memory. */
    get body() {
      return (text ??= decode(body))
    },
    handleFormRequest: (callbacks: FormCallbacks) =>
      handleForm(headers['content-type'], body, files, callbacks ?? {}),
  }
}

/** `saveFile` and `deleteFile` of the storage. */
const fileAccess = ({ write, remove }: HeldStorage['files']) => ({
  saveFile(name: string, base64: string): void {
    decodeBase64(String(base64))
    write(String(name), String(base64))
  },
  deleteFile: (name: string): boolean => remove(String(name)),
})
