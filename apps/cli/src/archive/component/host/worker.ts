/**
 * The module worker that a component becomes: this program, bundled into the function's one file, with what jco made of the component. It runs
 * in the sandbox of functions, as little trusted as the component itself. Each request has an instance of the component for itself.
 */
import type { FunctionStorage } from '@selvedge/client/function'
import { Exit, Trap } from './failure.ts'
import { Fields } from './fields.ts'
import { createInterfaces } from './interfaces.ts'
import {
  type ErrorCode,
  IncomingRequest,
  type OutgoingResponse,
  ResponseOutparam,
  type Result,
} from './message.ts'

/** As much of WebAssembly as this program uses. */
declare const WebAssembly: { compile(bytes: ArrayBuffer): Promise<CoreModule> }
interface CoreModule {
  readonly [Symbol.toStringTag]: string
}

/** Instances at the same time; further requests wait for one. */
export const maxInstances = 8

/** How long a component may go on after its response was sent. */
const afterResponseMs = 30_000

type Handle = (request: IncomingRequest, out: ResponseOutparam) => unknown

/** What jco generates with `instantiation: async`. */
type Instantiate = (
  getCoreModule: (name: string) => Promise<CoreModule>,
  imports: object,
) => Promise<Readonly<Record<string, { readonly handle?: Handle } | undefined>>>

export interface Component {
  readonly instantiate: Instantiate
  /** The core modules by name: base64 of deflated bytes. */
  readonly modules: Readonly<Record<string, string>>
  /** Name of the export, with its version. */
  readonly handler: string
  readonly hasTextCursors: boolean
}

/** Slots for instances, in the order of the requests. */
export function createSlots(count: number) {
  const waiting: (() => void)[] = []
  let free = count
  return {
    /** @throws the reason of the signal */
    async acquire(signal: AbortSignal): Promise<void> {
      signal.throwIfAborted()
      if (free > 0) {
        free--
        return
      }
      await new Promise<void>((resolve, reject) => {
        const start = () => {
          signal.removeEventListener('abort', leave)
          resolve()
        }
        const leave = () => {
          waiting.splice(waiting.indexOf(start), 1)
          reject(signal.reason)
        }
        signal.addEventListener('abort', leave, { once: true })
        waiting.push(start)
      })
    },
    release(): void {
      const next = waiting.shift()
      if (next) next()
      else free++
    },
  }
}

export function createWorker(component: Component) {
  const compiled = new Map<string, Promise<CoreModule>>()
  const getCoreModule = (name: string) => {
    const known = compiled.get(name)
    if (known) return known
    const module = compile(component.modules[name]!)
    compiled.set(name, module)
    return module
  }
  // At the start: a component that cannot be compiled makes the deployment fail.
  const ready = Promise.all(Object.keys(component.modules).map(getCoreModule))
  const slots = createSlots(maxInstances)

  return {
    ready,
    async fetch(
      request: Request,
      env: Readonly<Record<string, string>>,
      ctx: { readonly storage: FunctionStorage; waitUntil(task: Promise<unknown>): void },
    ): Promise<Response> {
      await slots.acquire(request.signal)
      if (request.signal.aborted) {
        slots.release()
        throw request.signal.reason
      }
      const run = startRun(component, getCoreModule, request, { env, storage: ctx.storage })
      ctx.waitUntil(run.done.finally(slots.release))
      return run.response
    },
  }
}

/** Runs the component for one request. `done` settles when its instance is not needed any more. */
function startRun(
  component: Component,
  getCoreModule: (name: string) => Promise<CoreModule>,
  request: Request,
  around: { readonly env: Readonly<Record<string, string>>; readonly storage: FunctionStorage },
) {
  const end = new AbortController()
  const session = { signal: end.signal }
  const response = Promise.withResolvers<Response>()
  let sent: Promise<void> | undefined
  let out: OutgoingResponse | undefined
  let afterResponse: ReturnType<typeof setTimeout> | undefined
  const over = Promise.withResolvers<never>()
  over.promise.catch(() => undefined)
  session.signal.addEventListener('abort', () => over.reject(session.signal.reason), { once: true })
  const leave = () => end.abort(new Error('the caller has left'))
  request.signal.addEventListener('abort', leave, { once: true })
  const { interfaces, finish } = createInterfaces(session, {
    ...around,
    hasTextCursors: component.hasTextCursors,
  })

  const outparam = new ResponseOutparam((given: Result<OutgoingResponse, ErrorCode>) => {
    if (given.tag === 'err')
      return response.reject(new Error(`the component answered with the error ${nameOf(given.val)}`))
    out = given.val
    const made = out.toResponse()
    sent = made.settled
    // Its sender has no further use for the signal: a platform may also abort it after a complete answer.
    void sent.then(() => {
      request.signal.removeEventListener('abort', leave)
      afterResponse = setTimeout(
        () => end.abort(new Error('the component went on for too long after its response')),
        afterResponseMs,
      )
    })
    response.resolve(made.response)
  })

  async function run(): Promise<void> {
    const instance = await component.instantiate(getCoreModule, interfaces)
    const incoming = new IncomingRequest(session, request, Fields.received(request.headers))
    // The code of jco does not pass on that an interface failed while the component waited in it: the handler would never return.
    await Promise.race([instance[component.handler]!.handle!(incoming, outparam), over.promise])
    if (!sent) throw new Trap('the component set no response')
    // Nothing of the component runs any more: a body that it did not finish is incomplete.
    out?.abandon('the component did not finish the body')
  }

  const done = run()
    .catch((cause) => {
      if (!(cause instanceof Exit && cause.code === 0)) {
        if (sent && !end.signal.aborted)
          console.error('the component failed after it set its response:', cause)
        response.reject(cause)
      }
      response.reject(new Trap('the component called exit before it set a response'))
      out?.abandon('the component failed')
    })
    .then(() => sent)
    .finally(() => {
      request.signal.removeEventListener('abort', leave)
      clearTimeout(afterResponse)
      finish()
      end.abort(new Error('the request is over'))
    })
  return { response: response.promise, done }
}

const nameOf = (code: ErrorCode): string =>
  'val' in code && code.val !== undefined ? `${code.tag}: ${String(code.val).slice(0, 1000)}` : code.tag

async function compile(base64: string): Promise<CoreModule> {
  const deflated = new Blob([Buffer.from(base64, 'base64')]).stream()
  const bytes = deflated.pipeThrough(new DecompressionStream('deflate-raw'))
  return WebAssembly.compile(await new Response(bytes).arrayBuffer())
}
