import { methods, nodeLimits } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { nodesRoutes } from './nodes-routes.ts'
import { readQuery } from './query.ts'

const nodes = { list: async () => ({}), listUnauthenticated: async () => 'the local network' }
const sealed = async (cluster: string, options: object) => ({ cluster, options })

const askWithoutToken = (query: object, seal?: typeof sealed) =>
  nodesRoutes(nodes as never, seal ? { sealedNodes: seal } : {}).table['GET /mds/v1/nodes']!.withoutToken!(
    query,
  )

describe('without a token', () => {
  it.each(['linkLocal', 'account'])('clusters=%s is refused if the API has a key', async (clusters) => {
    const { withoutToken } = nodesRoutes(nodes as never, { hasApiKey: true }).table['GET /mds/v1/nodes']!
    await expect(withoutToken!({ clusters })).rejects.toMatchObject({ reason: 'token_missing' })
    await expect(withoutToken!({})).rejects.toMatchObject({ reason: 'token_missing' })
  })

  it.each([{}, { clusters: 'linkLocal' }])('%j are the nodes of the local network', async (query) => {
    expect(await askWithoutToken(query)).toBe('the local network')
    expect(await askWithoutToken(query, sealed)).toBe('the local network')
  })

  it.each(['account', 'proximity'])(
    'clusters=%s needs a token, or is sealed for a service',
    async (cluster) => {
      await expect(askWithoutToken({ clusters: cluster, limit: 5 })).rejects.toMatchObject({
        reason: 'token_missing',
      })
      expect(await askWithoutToken({ clusters: cluster, limit: 5 }, sealed)).toEqual({
        cluster,
        options: { limit: 5 },
      })
    },
  )
})

const route = (more: object = {}) => nodesRoutes({ ...nodes, ...more } as never).table['GET /mds/v1/nodes']!

describe('with a token', () => {
  it.each([
    [{}, 'linkLocal', {}],
    [{ clusters: 'account', limit: 5, after: 'x' }, 'account', { limit: 5, after: 'x' }],
  ])(
    '%j are the nodes of the cluster that the caller names, or of the local network',
    async (query, cluster, options) => {
      const list = async (...asked: unknown[]) => asked
      expect(await route({ list }).handle({ query } as never)).toEqual([cluster, options])
    },
  )

  it('is the twin of getNodes, and ignores other parameters', () => {
    expect([route().as, route().ignoresUnknown]).toEqual([methods.getNodes, true])
    expect(nodesRoutes(nodes as never).prefix).toBe('/mds/v1')
  })
})

describe('the query', () => {
  const read = (text: string) => readQuery(new URLSearchParams(text), route().query!, true)

  it('has a cluster, a radius, a limit and a position', () => {
    expect(read('clusters=proximity&radius=0.5&limit=3&after=next')).toEqual({
      ...{ clusters: 'proximity', radius: 0.5, limit: 3, after: 'next' },
    })
    expect(read('after=')).toEqual({ after: '' })
  })

  const { radius, page, nearest } = nodeLimits

  it.each([
    ['clusters=all', '"linkLocal"'],
    ['radius=0', `metres, more than 0, up to ${radius.most}`],
    [`radius=${radius.most + 1}`, `metres, more than 0, up to ${radius.most}`],
    ['limit=0', `a whole number from 1 to ${page.most}, or ${nearest.most} for proximity`],
    [`limit=${page.most + 1}`, `a whole number from 1 to ${page.most}, or ${nearest.most} for proximity`],
    [`after=${'x'.repeat(129)}`, '"next" of the page before'],
  ])('with %s is refused, with what is expected', (text, expected) => {
    expect(() => read(text)).toThrow(expected)
  })
})

it('a caller without a token gets the local network with the options of the query', async () => {
  const listUnauthenticated = async (options: object) => options
  expect(await route({ listUnauthenticated }).withoutToken!({ clusters: 'linkLocal', limit: 2 })).toEqual({
    limit: 2,
  })
})

it('the local network is not sealed: with an API key it needs a token, also for a service', async () => {
  const { withoutToken } = nodesRoutes(nodes as never, { hasApiKey: true, sealedNodes: sealed }).table[
    'GET /mds/v1/nodes'
  ]!
  await expect(withoutToken!({})).rejects.toMatchObject({
    ...{ reason: 'token_missing' },
    message: 'clusters=linkLocal needs a token: send "Authorization: Bearer <access token>"',
  })
  expect(await withoutToken!({ clusters: 'account' })).toEqual({ cluster: 'account', options: {} })
})
