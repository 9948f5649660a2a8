import { describe, expect, it } from 'vitest'
import { nodesRoutes } from './nodes-routes.ts'

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
