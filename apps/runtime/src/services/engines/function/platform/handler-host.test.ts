import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createEdge } from './edge.ts'
import { createEventSockets, eventLimits } from './event-sockets.ts'
import { type FormCallbacks, FormError, formLimits, handleForm } from './form.ts'
import { setGlobals, setProcess } from './globals.ts'
import { createHandlerResponse } from './handler-response.ts'
import { createHttpRequest, maxAnswerBytes } from './http-request.ts'
import { callOnce } from './once.ts'
import type { Files } from './storage.ts'

const files = (): Files & { stored: Map<string, string> } => {
  const stored = new Map<string, string>()
  return {
    stored,
    read: (name) => stored.get(name) ?? null,
    write: (name, base64) => void stored.set(name, base64),
    remove: (name) => stored.delete(name),
  }
}

describe('the global names of a handler', () => {
  it('have a process with the values of the container, that shows nothing of the device', () => {
    const target = {
      process: { env: { PATH: '/bin', HOME: '/root' }, cwd: () => '/root', argv: ['/deno', '/control'] },
    }
    const given = { DEBUG: 'x' }
    setProcess(given, target)
    expect({ ...target.process.env }).toEqual({ DEBUG: 'x' })
    expect([target.process.cwd(), target.process.argv.join()]).toEqual(['/', 'node,index.js'])
    target.process.env = { PATH: 'changed', HOME: '' }
    expect(given).toEqual({ DEBUG: 'x' })
  })

  it('are those of the API family, and one for the global object', () => {
    const target: { global?: unknown; Duktape?: object } = {}
    setGlobals(target)
    expect(target.global).toBe(target)
    expect(target.Duktape).toBeDefined()
  })
})

it('of two callbacks the first outcome calls its own, and no later one calls any', async () => {
  const calls: string[] = []
  const { succeed, fail } = callOnce({
    success: (value: string) => calls.push(value),
    error: (value: string) => calls.push(value),
  })
  fail('first')
  succeed('second')
  fail('third')
  await new Promise((resolve) => setImmediate(resolve))
  expect(calls).toEqual(['first'])
})

describe('context.http.request', () => {
  const logged = vi.spyOn(console, 'error')
  let url: string
  const seen: { method?: string | undefined; headers: Record<string, unknown>; body: string }[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      seen.push({ method: request.method, headers: request.headers, body })
      if (request.url === '/cut') {
        response.writeHead(200, { 'Content-Length': 100 }).write('x')
        setTimeout(() => response.destroy(), 20)
      } else if (request.url === '/endless') {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        }
        response.on('drain', more)
        more()
      } else response.writeHead(request.url === '/missing' ? 404 : 200).end('content')
    })
  })
  beforeEach(async () => {
    seen.length = 0
    logged.mockReset()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  /** The callbacks that were called, after all that could call another one. */
  async function outcome(request: object) {
    const calls: [string, unknown][] = []
    const called = Promise.withResolvers<void>()
    const note = (name: string) => (value: unknown) => {
      calls.push([name, value])
      called.resolve()
    }
    createHttpRequest(fetch)({ url, success: note('success'), error: note('error'), ...request })
    await called.promise
    await new Promise((resolve) => setImmediate(resolve))
    return calls
  }

  it('calls success for an answer, and error with its content for a refusal', async () => {
    expect(await outcome({})).toEqual([['success', { data: 'content', status: 200 }]])
    expect(await outcome({ url: `${url}/missing` })).toEqual([
      ['error', { message: 'Not Found', status: 404, content: 'content' }],
    ])
  })

  it.each([
    ['an answer that is cut off', '/cut', {}],
    ['an answer without an end', '/endless', {}],
    ['an invalid URL', 'nonsense', {}],
    ['data that is no JSON', '/', { type: 'POST', data: { big: 1n } }],
    ['an invalid header', '/', { headers: { 'a b': 'c' } }],
    ['a body with GET', '/', { data: 'x' }],
  ])('calls error once, and nothing else, for %s', async (_, path, more) => {
    const calls = await outcome({ url: path.startsWith('/') ? url + path : path, ...more })
    expect(calls).toEqual([['error', { message: expect.any(String), status: 0, content: '' }]])
    if (path === '/endless') expect(JSON.stringify(calls)).toContain(`more than ${maxAnswerBytes} bytes`)
  })

  it('reports what a callback throws or rejects with, and calls no other one', async () => {
    let calls = 0
    const thrower = (cause: unknown) => () => {
      calls++
      throw cause
    }
    for (const success of [thrower(new Error('thrown')), async () => Promise.reject(new Error('rejected'))])
      createHttpRequest(fetch)({ url, success, error: () => void calls++ })
    createHttpRequest(fetch)({ url: 'nonsense', success: () => void calls++, error: thrower('of error') })
    await expect.poll(() => logged.mock.calls.length + calls).toBeGreaterThanOrEqual(2)
    expect(calls).toBe(2)
    expect(() => createHttpRequest(fetch)(undefined as never)).not.toThrow()
    expect(() => createHttpRequest(fetch)({ url, success: 'no function' } as never)).not.toThrow()
  })

  it('sends what the caller set, and no content type beside it', async () => {
    const headers = { 'X-Own': '1' }
    await outcome({ type: 'post', data: { a: 1 }, headers, authorization: 'Bearer t\r\nx-injected: 1' })
    await outcome({ type: 'PATCH', data: 'text', authorization: '\r\nx-injected: 1' })
    await outcome({ type: 'PUT', data: 'a', headers: { 'content-type': 'text/csv' } })
    expect(seen.map(({ method, body }) => `${method} ${body}`)).toEqual([
      'POST {"a":1}',
      'PATCH text',
      'PUT a',
    ])
    expect(
      seen.map(({ headers: sent }) => [sent['content-type'], sent.authorization, sent['x-injected']]),
    ).toEqual([
      [undefined, 'Bearer t', undefined],
      [undefined, undefined, undefined],
      ['text/csv', undefined, undefined],
    ])
    expect(seen[0]?.headers['x-own']).toBe('1')
  })
})

describe('context.edge', () => {
  const opened = { cluster: 'account', accountId: 'a', nodes: [] }
  function decrypt(request: object, answer: () => Promise<Response> = async () => Response.json(opened)) {
    const asked: unknown[] = []
    const edge = createEdge({
      openNodesPath: '/open',
      runtimeFetch: async (path, init) => {
        asked.push([path, JSON.parse(Buffer.from(init?.body as Uint8Array).toString())])
        return answer()
      },
    })
    return new Promise<[string, { data?: string; message?: string }, unknown[]]>((resolve) => {
      edge.decryptEncryptedNodesJson({
        success: (result) => resolve(['success', result, asked]),
        error: (error) => resolve(['error', error, asked]),
        ...request,
      })
    })
  }
  const sealed = { data: 'd', iv: 'i', tag: 't' }

  it('opens a sealed list of the account in two steps, as the helper package does', async () => {
    const data = JSON.stringify(sealed)
    const [, first, asked] = await decrypt({ type: 'local', data, token: 'token' })
    expect(JSON.parse(first.data!)).toEqual({ account: { accountId: 'a', cipheredNodes: sealed } })
    expect(asked).toEqual([['/open', { type: 'local', token: 'token', sealed }]])
    const [, second] = await decrypt({ type: 'account', data, token: 'token' })
    expect(JSON.parse(second.data!)).toEqual([])
  })

  it('reads a list that is not sealed without asking for anything', async () => {
    const node = {
      nodeId: 'n',
      name: null,
      accountId: null,
      addresses: ['10.0.0.1', 'fd00::1', 'http://10.0.0.1:8083'],
      services: [{ name: 'mess', path: '/client/mess/v1' }],
      distance: null,
      fix: null,
    }
    const [called, result, asked] = await decrypt({ type: 'local', data: JSON.stringify([node]) })
    expect([called, asked]).toEqual(['success', []])
    const [{ addresses, services }] = JSON.parse(result.data!).localLinkNetwork.nodes
    expect(addresses.map(({ url }: { url: { href: string } }) => url.href)).toEqual([
      'http://10.0.0.1',
      'http://[fd00::1]',
      'http://10.0.0.1:8083',
    ])
    expect(services[0]).toMatchObject({ serviceType: 'client-mess', self: '/client/mess/v1' })
  })

  it.each([
    [{ type: 'other', data: '{}' }, /"type" must be/],
    [{ type: 'local', data: '{' }, /"data" must be/],
    [{ type: 'local' }, /"data" must be/],
    [{ type: 'local', data: '[{}]' }, /./],
  ])('calls back with an error for %j', async (request, message) => {
    const [called, { message: said }] = await decrypt(request)
    expect([called, said]).toEqual(['error', expect.stringMatching(message)])
  })

  it('calls back with the reason of the runtime, and with an error for a broken answer', async () => {
    const data = JSON.stringify(sealed)
    const refused = async () => Response.json({ error: { message: 'the token expired' } }, { status: 401 })
    expect((await decrypt({ type: 'local', data }, refused))[1]).toEqual({
      message: 'the token expired',
      status: 401,
    })
    const broken = async () => new Response('{"cluster":"account"}')
    expect((await decrypt({ type: 'account', data }, broken))[0]).toBe('error')
    expect((await decrypt({ type: 'local', data }, () => Promise.reject(new Error('gone'))))[1].message).toBe(
      'gone',
    )
  })

  it('refuses a request for a bearer end point, with the reason', async () => {
    const { requestBep } = createEdge({ openNodesPath: '', runtimeFetch: fetch })
    const error = await new Promise((resolve) => requestBep({ success: resolve, error: resolve }))
    expect(error).toMatchObject({ status: 501, message: expect.stringContaining('no relay') })
    expect(() => requestBep()).not.toThrow()
  })
})

describe('request.handleFormRequest', () => {
  const multipart = 'multipart/form-data; boundary=b'
  function handle(type: string | undefined, body: string | Uint8Array, callbacks: FormCallbacks = {}) {
    const store = files()
    const got: unknown[] = []
    handleForm(type, Buffer.from(body as string), store, {
      found: (_, filename) => ({ action: filename === undefined ? 'get' : 'store' }),
      get: (...args) => void got.push(args),
      store: (...args) => void got.push(args),
      ...callbacks,
    })
    return { got, stored: store.stored }
  }

  it.each([0, 1, 5])('reads what the platform writes: %d fields and files', async (count) => {
    const form = new FormData()
    for (let at = 0; at < count; at++) {
      form.append(`ü "${at}"`, `\r\n--b\r\n${at}`)
      form.append('file', new Blob([Buffer.from([0, 13, 10, 45, 45, 255])]), `../é${at}`)
    }
    const response = new Response(form)
    const type = response.headers.get('content-type')!
    const { got, stored } = handle(type, Buffer.from(await response.arrayBuffer()))
    expect(got).toEqual(
      Array.from({ length: count }, (_, at) => [
        [`ü "${at}"`, `\r\n--b\r\n${at}`],
        [`../é${at}`, 6],
      ]).flat(),
    )
    expect([...stored.values()]).toEqual(Array.from({ length: count }, () => 'AA0KLS3/'))
  })

  it.each([
    ['no form', undefined, 'x'],
    ['JSON', 'application/json', '{}'],
    ['no boundary', 'multipart/form-data', '--b'],
    ['nothing', multipart, ''],
    ['no end', multipart, '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nvalue'],
    ['no headers', multipart, '--b\r\n\r\nvalue\r\n--b--'],
    ['no name', multipart, '--b\r\nContent-Disposition: form-data\r\n\r\nvalue\r\n--b--'],
    ['a long head', multipart, `--b\r\nA: ${'x'.repeat(20_000)}\r\n\r\nvalue\r\n--b--`],
    ['a long name', 'application/x-www-form-urlencoded', `${'x'.repeat(2000)}=1`],
    ['too many fields', 'application/x-www-form-urlencoded', 'a=1&'.repeat(formLimits.fields + 1)],
    ['too many separators', 'application/x-www-form-urlencoded', '&'.repeat(formLimits.fields + 1)],
    [
      'too many parts',
      multipart,
      `${'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(formLimits.fields + 1)}--b--`,
    ],
  ])('refuses %s', (_, type, body) => {
    expect(() => handle(type, body)).toThrow(FormError)
  })

  it('reads a body that is made of beginnings in linear time', () => {
    for (const body of ['\r\n--b', '\r\n--', '\r\n', '--b\r\n', '\r\n\r\n'])
      expect(() => handle(multipart, body.repeat(2_000_000 / body.length))).toThrow(FormError)
  })

  it('lets the exception of a callback through to the handler', () => {
    const found = () => {
      throw new Error('of the callback')
    }
    expect(() => handle('application/x-www-form-urlencoded', 'a=1', { found })).toThrow('of the callback')
    expect(handle('application/x-www-form-urlencoded', 'a=1', { found: () => undefined }).got).toEqual([])
  })
})

describe('the response of a handler', () => {
  async function answer(
    respond: (response: ReturnType<typeof createHandlerResponse>) => void,
    store: Files = files(),
  ): Promise<Response> {
    return new Promise((resolve, reject) => respond(createHandlerResponse(store, resolve, reject)))
  }

  it('is sent once, and ignores what comes after its end', async () => {
    const response = await answer((own) => {
      own.write('a')
      own.end('b')
      own.end('c')
      own.write('d')
      expect([own.headersSent, own.finished]).toEqual([true, true])
    })
    expect(await response.text()).toBe('ab')
  })

  it('has the head of writeHead, with or without a text for the status', async () => {
    const one = await answer((own) => own.writeHead(201, { 'X-A': 1 }).end())
    const other = await answer((own) => own.writeHead(404, 'Gone', { 'x-b': ['1', '2'] }).end())
    expect([one.status, one.headers.get('x-a'), other.status, other.headers.get('x-b')]).toEqual([
      201,
      '1',
      404,
      '1, 2',
    ])
  })

  it.each([204, 304])('has no body with the status %d', async (status) => {
    const response = await answer((own) => {
      own.statusCode = status
      own.end('x')
    })
    expect([response.status, response.body]).toEqual([status, null])
  })

  it('is a file of the storage, or 404', async () => {
    const store = files()
    store.write('a.bin', 'AP8=')
    const response = await answer((own) => own.writeMimeFile('a.bin', 'image/png'), store)
    expect(response.headers.get('content-type')).toBe('image/png')
    expect([...new Uint8Array(await response.arrayBuffer())]).toEqual([0, 255])
    expect((await answer((own) => own.writeMimeFile('/etc/passwd', 'text/plain'), store)).status).toBe(404)
  })

  it('fails with what makes an answer impossible', async () => {
    await expect(answer((own) => own.writeHead(42).end())).rejects.toThrow()
  })
})

describe('dispatchWebSocketEvent', () => {
  function connect() {
    const all: {
      sent: string[]
      closed: number[]
      bufferedAmount: number
      readyState: number
      emit: () => void
    }[] = []
    const events = createEventSockets(() => {
      const target = new EventTarget()
      const own = {
        sent: [] as string[],
        closed: [] as number[],
        bufferedAmount: 0,
        readyState: 1,
        emit: () => void target.dispatchEvent(new Event('close')),
      }
      all.push(own)
      const socket = Object.assign(target, own, {
        send: (text: string) => void own.sent.push(text),
        close: (code: number) => void own.closed.push(code),
      })
      Object.defineProperty(socket, 'bufferedAmount', { get: () => own.bufferedAmount })
      return { socket: socket as never, response: new Response(null) }
    })
    const accept = () => events.accept(new Request('http://localhost/'))
    return { events, all, accept }
  }

  it('sends an event to each client until it is gone', () => {
    const { events, all, accept } = connect()
    accept()
    accept()
    events.dispatch({ type: 'news', message: 'text' })
    all[0]!.emit()
    events.dispatch({ type: 'news', message: { a: 1 } })
    events.dispatch({})
    events.dispatch()
    events.dispatch(null)
    expect(all.map(({ sent }) => sent.length)).toEqual([1, 3])
    expect(all[1]!.sent[1]).toBe('{"type":"news","message":"{\\"a\\":1}"}')
  })

  it('disconnects a client that does not read, and refuses one too many and an event that is too large', () => {
    const { events, all, accept } = connect()
    for (let at = 0; at < eventLimits.sockets; at++) accept()
    expect(accept().status).toBe(503)
    all[0]!.bufferedAmount = eventLimits.unread + 1
    events.dispatch({ type: 'a' })
    expect([all[0]!.sent, all[0]!.closed, all[1]!.sent.length]).toEqual([[], [1013], 1])
    expect(() => events.dispatch({ message: 'x'.repeat(eventLimits.event) })).toThrow(RangeError)
    // What it did not read is in memory until it is gone.
    expect(accept().status).toBe(503)
    all[0]!.emit()
    expect(accept().status).toBe(200)
  })
})
