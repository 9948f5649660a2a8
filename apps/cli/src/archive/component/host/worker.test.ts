import { describe, expect, it } from 'vitest'
import { Exit } from './failure.ts'
import type { createInterfaces } from './interfaces.ts'
import type { IncomingRequest, OutgoingBody, ResponseOutparam } from './message.ts'
import { createWorker, maxInstances } from './worker.ts'

type Interfaces = ReturnType<typeof createInterfaces>['interfaces']
type Code = (imports: Interfaces, request: IncomingRequest, out: ResponseOutparam) => unknown

/** A worker with a component that is code of this process. It stores what it gives to `waitUntil`. */
function workerOf(handle: Code) {
  const tasks: Promise<unknown>[] = []
  const worker = createWorker({
    handler: 'handler',
    modules: {},
    hasTextCursors: false,
    instantiate: async (_, imports) => ({
      handler: { handle: (request, out) => handle(imports as Interfaces, request, out) },
    }),
  })
  const context = { storage: {} as never, waitUntil: (task: Promise<unknown>) => void tasks.push(task) }
  return {
    tasks,
    fetch: (request = new Request('http://here/')) => worker.fetch(request, {}, context),
  }
}

function respond({ 'wasi:http/types': types }: Interfaces, out: ResponseOutparam): OutgoingBody {
  const response = new types.OutgoingResponse(new types.Fields())
  const body = response.body()
  types.ResponseOutparam.set(out, { tag: 'ok', val: response })
  return body
}

const echo: Code = async (imports, request, out) => {
  const body = respond(imports, out)
  const [input, output] = [request.consume().stream(), body.write()]
  for (;;) {
    const bytes = await input.blockingRead(65_536n).catch(() => undefined)
    if (!bytes) break
    await output.blockingWriteAndFlush(bytes)
  }
  imports['wasi:http/types'].OutgoingBody.finish(body, undefined)
}

it('passes a body on while it is received, also one of more bytes than wait in memory', async () => {
  const text = 'ab'.repeat(300_000)
  const request = new Request('http://here/', { method: 'POST', body: text })
  expect(await (await workerOf(echo).fetch(request)).text()).toBe(text)
})

describe('a component that does not answer as it should', () => {
  it.each<[string, Code, RegExp]>([
    ['returns without a response', () => undefined, /set no response/],
    [
      'fails',
      () => {
        throw new Error('unreachable')
      },
      /unreachable/,
    ],
    [
      'exits without a response',
      () => {
        throw new Exit(0)
      },
      /called exit before/,
    ],
    [
      'answers with an error',
      ({ 'wasi:http/types': { ResponseOutparam } }, _, out) =>
        ResponseOutparam.set(out, { tag: 'err', val: { tag: 'internal-error', val: 'full' } }),
      /internal-error: full/,
    ],
  ])('that %s makes its request fail', async (_, handle, message) => {
    const { fetch, tasks } = workerOf(handle)
    await expect(fetch()).rejects.toThrow(message)
    await Promise.all(tasks)
  })

  it.each<[string, Code]>([
    ['returns', (imports, _, out) => respond(imports, out).write().write(new Uint8Array(3))],
    [
      'fails',
      (imports, _, out) => {
        respond(imports, out)
        throw new Exit(0)
      },
    ],
  ])('and that %s in the middle of a body makes it incomplete, and frees its slot', async (_, handle) => {
    const { fetch, tasks } = workerOf(handle)
    const response = await fetch()
    await expect(response.text()).rejects.toThrow(/the component/)
    await Promise.all(tasks)
  })
})

describe('requests of more than the instances', () => {
  const sleep: Code = async ({ 'wasi:clocks/monotonic-clock': clock }) =>
    clock.subscribeDuration(2n ** 63n).block()

  it('wait for one, which callers that leave make free', async () => {
    const left = new AbortController()
    let runs = 0
    const { fetch, tasks } = workerOf((imports, request, out) => {
      runs++
      return request.pathWithQuery() === '/sleep' ? sleep(imports, request, out) : echo(imports, request, out)
    })
    const sleeping = Array.from({ length: maxInstances }, () =>
      fetch(new Request('http://here/sleep', { signal: left.signal })),
    )
    const failures = Promise.allSettled(sleeping)
    const last = fetch()
    await expect.poll(() => runs).toBe(maxInstances)
    left.abort()
    expect(await (await last).text()).toBe('')
    expect(runs).toBe(maxInstances + 1)
    expect((await failures).every(({ status }) => status === 'rejected')).toBe(true)
    await Promise.all(tasks)
  })

  it('do not run if their callers left before they start', async () => {
    const left = new AbortController()
    let runs = 0
    const { fetch } = workerOf((...of) => {
      runs++
      return sleep(...of)
    })
    const failures = Promise.allSettled(
      Array.from({ length: maxInstances + 5 }, () =>
        fetch(new Request('http://here/', { signal: left.signal })),
      ),
    )
    left.abort()
    await failures
    expect(runs).toBe(0)
  })
})
