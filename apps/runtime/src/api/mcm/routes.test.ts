import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { methods, RpcError } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { plan, service } from '../../../../../tests/harness/app-device.ts'
import { createContainerLog } from '../../services/containers/logs.ts'
import { readQuery } from '../rest/query.ts'
import { createRest, type RestParts } from '../rest/rest.ts'
import { mcmRoutes } from './routes.ts'

/** Calls `GET /mcm/v1/containers/{id}/logs` of a container with a line a second. */
async function logs(query: string): Promise<string[]> {
  let now = Date.parse('2026-01-31T12:00:00Z')
  const log = createContainerLog({ now: () => now })
  for (const text of ['first', 'second', 'third']) {
    log.add('stdout', text)
    now += 1000
  }
  const { table } = mcmRoutes({ containers: { logs: () => log }, images: {}, clock: {} } as never)
  const { handle, query: parameters = {} } = table['GET /mcm/v1/containers/{id}/logs']!
  const answer = await handle({ id: 'c', query: readQuery(new URLSearchParams(query), parameters) } as never)
  return (answer as { lines: { text: string }[] }).lines.map(({ text }) => text)
}

it.each([
  ['', ['first', 'second', 'third']],
  ['since=2026-01-31T12:00:01Z', ['second', 'third']],
  ['since=2026-01-31T13:00:01%2B01:00', ['second', 'third']],
  ['since=2026-01-31T12:00:01.500Z', ['third']],
  ['since=2026-01-31T12:00:00Z&tail=1', ['third']],
  ['since=2027-01-01', []],
  ['tail=2&follow=false', ['second', 'third']],
])('the log with "%s" has only the lines from that time on', async (query, lines) => {
  expect(await logs(query)).toEqual(lines)
})

it.each([
  ['since=yesterday', '"yesterday"; expected an ISO 8601 time'],
  ['since=', '""; expected an ISO 8601 time'],
  ['tail=abc', '"abc"; expected a whole number from 1 to 10000'],
  ['tail=0', '"0"; expected a whole number from 1 to 10000'],
  ['tail=10001', '"10001"; expected a whole number from 1 to 10000'],
  ['tail=1.5', '"1.5"; expected a whole number from 1 to 10000'],
  ['follow=yes', '"yes"; expected "true" or "false"'],
  ['lines=5', '"lines" is unknown; expected "tail", "since", "follow"'],
])('the log with "%s" is refused with invalid_params', async (query, message) => {
  const refused = await logs(query).catch((cause: RpcError) => cause)
  expect(refused).toBeInstanceOf(RpcError)
  expect(refused).toMatchObject({ reason: 'invalid_params', message: expect.stringContaining(message) })
})

it('newer deployers find containers under /mims, and what serves is started', async () => {
  const states = ['running', 'paused', 'stopped', 'failed']
  const list = async () => states.map((state) => ({ id: state, state }))
  const { table } = mcmRoutes({ containers: { list, logs: () => 'x' }, images: {}, clock: {} } as never)
  const keys = (prefix: string) => Object.keys(table).filter((key) => key.includes(prefix))
  expect(keys('/mims')).toEqual(keys('/containers').map((key) => key.replace('/containers', '/mims')))
  const stateOf = async (key: string) => {
    const { data } = (await table[key]!.handle({} as never)) as { data: { state: string }[] }
    return data.map(({ state }) => state)
  }
  expect(await stateOf('GET /mcm/v1/mims')).toEqual(['started', 'started', 'stopped', 'failed'])
  expect(await stateOf('GET /mcm/v1/containers')).toEqual(states)
})

describe('over HTTP', () => {
  const owner = { account_id: 'a', client_id: 'c' }
  let server: Server
  /** What the parts of the runtime were called for, such as `containers.start`, with the arguments. */
  let calls: unknown[][]
  /** Access that a caller needed, and the route. */
  let checked: unknown[][]
  let result: unknown
  let log: ReturnType<typeof createContainerLog>
  let followed: Parameters<RestParts['lasting']['watch']>[0][]
  /** A part of the runtime that notes calls of its methods. */
  const part = (name: string, more: object = {}) =>
    new Proxy(more, {
      get: (own, method) =>
        Reflect.get(own, method) ??
        (async (...args: unknown[]) => {
          calls.push([`${name}.${String(method)}`, ...args])
          return result
        }),
    })

  beforeEach(async () => {
    ;[calls, checked, followed] = [[], [], []]
    log = createContainerLog({ now: () => 0 })
    result = { done: true }
    const images = part('images', {
      uploads: { begin: async () => ({ handle: 'upload:h', offset: 0, length: 5, expiresAt: 0 }) },
      list: () => [{ id: 'c-i' }, { id: 'c-j' }],
      receive: async (_: object, content: AsyncIterable<Uint8Array>, length: number, naming: unknown) => {
        calls.push([
          'images.receive',
          (await content[Symbol.asyncIterator]().next()).value.toString(),
          length,
          naming,
        ])
        return result
      },
      upload: async (_: object, content: AsyncIterable<Uint8Array>, length: number) => {
        calls.push(['images.upload', (await content[Symbol.asyncIterator]().next()).value.toString(), length])
        return result
      },
    })
    const containers = part('containers', {
      logs: () => log,
      history: (_: object, id: string) => ({ history: id }),
    })
    const parts = {
      async authorize(_: string, access: object, __: object, key: string) {
        checked.push([access, key])
        return owner
      },
      nonce: () => 'n',
      onInternalError: () => 'internal',
      expectStillValid: () => undefined,
      lasting: {
        watch(answer: never) {
          followed.push(answer)
          return () => undefined
        },
      },
    } as unknown as RestParts
    const routes = mcmRoutes({ images, containers, apps: part('apps'), clock: { now: () => 0 } } as never)
    const rest = createRest(parts, [routes])
    server = createServer((request, response) => void rest(request, response)).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(() => {
    server.close()
    server.closeAllConnections()
  })

  function send(route: string, body?: string, type = 'application/json', more: object = {}) {
    const [method, path] = route.split(' ')
    return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcm/v1/${path}`, {
      ...{ method: method!, headers: { Authorization: 'Bearer t', 'Content-Type': type, ...more } },
      ...(body !== undefined && { body }),
    })
  }
  const answerOf = async (...sent: Parameters<typeof send>) => (await send(...sent)).json()

  it.each([
    ['DELETE images/x', methods.removeImage, 'images.remove'],
    ['GET containers/x', methods.getContainers, 'containers.get'],
    ['DELETE containers/x', methods.removeContainer, 'containers.remove'],
    ['POST containers/x/start', methods.startContainer, 'containers.start'],
    ['POST containers/x/stop', methods.stopContainer, 'containers.stop'],
    ['POST containers/x/redeploy', methods.redeployContainer, 'containers.redeploy'],
    ['POST mims/x/stop', methods.stopContainer, 'containers.stop'],
    ['GET apps/x', methods.getApps, 'apps.get'],
    ['POST apps/x/start', methods.startApp, 'apps.start'],
    ['POST apps/x/stop', methods.stopApp, 'apps.stop'],
    ['POST apps/x/redeploy', methods.redeployApp, 'apps.redeploy'],
    ['POST apps/x/rollback', methods.rollbackApp, 'apps.rollBack'],
    ['DELETE apps/x', methods.removeApp, 'apps.remove'],
  ])('%s does what its method does, with the same access', async (route, { access }, call) => {
    expect(await answerOf(route)).toEqual({ done: true })
    expect(calls).toEqual([[call, owner, 'x']])
    expect(checked).toEqual([
      [access, `${route.split(' ')[0]} /mcm/v1/${route.split(' ')[1]!.replace('x', '{id}')}`],
    ])
    expect(checked[0]![0]).toBe(access)
  })

  it('lists are in "data"', async () => {
    expect(await answerOf('GET images')).toEqual({ data: [{ id: 'c-i' }, { id: 'c-j' }] })
    result = [{ id: 'c-x' }]
    expect(await answerOf('GET containers')).toEqual({ data: result })
    expect(await answerOf('GET apps')).toEqual({ data: result })
    expect(calls).toEqual([
      ['containers.list', owner],
      ['apps.list', owner],
    ])
    expect(await answerOf('GET containers/x/history')).toEqual({ history: 'x' })
    const all = [methods.getImages, methods.getContainers, methods.getApps, methods.getContainerHistory]
    expect(checked.map(([access]) => access)).toEqual(all.map(({ access }) => access))
  })

  it('an image is found by its ID', async () => {
    expect(await answerOf('GET images/c-j')).toEqual({ id: 'c-j' })
    expect(checked[0]![0]).toBe(methods.getImages.access)
    expect(await answerOf('GET images/c-k')).toMatchObject({
      error: { reason: 'not_found', message: 'there is no image "c-k"' },
    })
  })

  it('an image is deployed from an archive or a source, under the name of the query', async () => {
    expect(await answerOf('POST images?name=app', 'tar', 'application/x-tar')).toEqual({ done: true })
    await answerOf('POST images?name=app', '{"source":"s"}')
    expect(calls).toEqual([
      ['images.receive', 'tar', 3, { given: 'app', file: undefined }],
      ['images.deploy', owner, 's', { name: 'app', now: false }],
    ])
    expect(checked[0]![0]).toBe(methods.deployImage.access)
    expect(await answerOf('POST images?name=App')).toMatchObject({
      error: { reason: 'invalid_params', message: expect.stringContaining('"App"; expected') },
    })
  })

  it('an archive is uploaded whole, or in parts by tus', async () => {
    expect(await answerOf('POST uploads', 'tar')).toEqual({ done: true })
    expect(calls).toEqual([['images.upload', 'tar', 3]])
    expect(checked[0]![0]).toBe(methods.deployImage.access)
    const begun = await send('POST uploads', '', undefined, {
      'Tus-Resumable': '1.0.0',
      'Upload-Length': '5',
    })
    expect([begun.status, begun.headers.get('location')]).toEqual([201, '/mcm/v1/uploads/h'])
  })

  it('a container and an app are deployed from what the body states', async () => {
    await answerOf('POST containers', '{"name":"web","image":"app"}')
    const shop = plan('shop', [service('web')])
    await answerOf('POST apps', JSON.stringify({ plan: shop, secrets: [], deployment: 'at-random' }))
    expect(calls).toEqual([
      ['containers.deploy', owner, expect.objectContaining({ name: 'web', image: 'app' })],
      ['apps.deploy', owner, shop, [], { deployment: 'at-random' }],
    ])
    expect(checked.map(([access]) => access)).toEqual([
      methods.deployContainer.access,
      methods.deployApp.access,
    ])
  })

  it('a log is followed until its container is another one', async () => {
    expect(await (await send('HEAD containers/x/logs?follow=true')).text()).toBe('')
    expect(followed).toEqual([])
    const response = await send('GET containers/x/logs?follow=true')
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    expect(checked[0]![0]).toBe(methods.getContainerLogs.access)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    log.add('stdout', 'hello')
    expect(JSON.parse((await reader.read()).value!)).toMatchObject({ text: 'hello' })
    const [{ expectAllowed, end }] = followed as [(typeof followed)[number]]
    expect(expectAllowed).not.toThrow()
    log = createContainerLog({ now: () => 0 })
    const gone = expect.objectContaining({ reason: 'not_found', message: 'the container was removed' })
    expect(expectAllowed).toThrow(gone)
    end(new RpcError('not_found', 'the container was removed'))
    const last = JSON.parse((await reader.read()).value!)
    expect(last).toMatchObject({ time: '1970-01-01T00:00:00.000Z', text: expect.stringContaining('removed') })
    expect((await reader.read()).done).toBe(true)
  })

  it('of a container as newer deployers see it, only the state differs', async () => {
    for (const [given, expected] of [
      [
        { id: 'x', state: 'running', more: 1 },
        { id: 'x', state: 'started', more: 1 },
      ],
      [
        { id: 'x', state: 'failed' },
        { id: 'x', state: 'failed' },
      ],
      [
        { id: 'x', state: 1 },
        { id: 'x', state: 1 },
      ],
      [{ data: 'x' }, { data: 'x' }],
      [null, null],
      ['x', 'x'],
    ]) {
      result = given
      expect(await answerOf('GET mims/x')).toEqual(expected)
      expect(await answerOf('GET containers/x')).toEqual(given)
    }
  })
})
