import { RpcError } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { createNeighbours } from './neighbours.ts'

const request = { dpop: undefined, host: 'runtime', method: 'POST', path: '/' }

function open(refusal?: RpcError) {
  let now = 0
  const listed: unknown[] = []
  const checked: unknown[] = []
  const neighbours = createNeighbours({
    now: () => now,
    async list(cluster, options) {
      listed.push([cluster, options])
      return { data: [{ nodeId: 'n' }] } as never
    },
    async authorize(token, access, { shown }, use) {
      checked.push([token, access, shown?.scheme, use])
      if (refusal) throw refusal
      return { account_id: 'account' } as never
    },
  })
  return { neighbours, listed, checked, wait: (ms: number) => (now += ms) }
}

describe('lists of nodes for services', () => {
  it('cost nothing before they are opened, and are made with the access of the token', async () => {
    const { neighbours, listed, checked } = open()
    const { type, data: sealed } = neighbours.seal('proximity', { limit: 3 }, 'one')
    expect([type, listed, checked]).toEqual(['proximity', [], []])
    expect(await neighbours.open({ type: 'local', sealed, token: 't' }, 'one', request)).toEqual({
      cluster: 'proximity',
      accountId: 'account',
      nodes: [{ nodeId: 'n' }],
    })
    expect(listed).toEqual([['proximity', { limit: 3 }]])
    expect(checked).toEqual([
      ['t', { caller: 'token', token: 'associated', scope: 'edge:clusters' }, 'Bearer', 'getNodes'],
    ])
  })

  it('of the account are named in the first step, and made in the second', async () => {
    const { neighbours, listed } = open()
    const { data: sealed } = neighbours.seal('account', {}, 'one')
    const first = await neighbours.open({ type: 'local', sealed, token: 't' }, 'one', request)
    expect([first.accountId, first.nodes, listed]).toEqual(['account', [], []])
    expect(
      (await neighbours.open({ type: 'account', sealed, token: 't' }, 'one', request)).nodes,
    ).toHaveLength(1)
  })

  it('are refused as getNodes refuses the token, in both steps', async () => {
    const refusal = new RpcError('insufficient_scope', 'no')
    const { neighbours, listed } = open(refusal)
    const { data: sealed } = neighbours.seal('account', {}, 'one')
    for (const type of ['local', 'account'])
      await expect(neighbours.open({ type, sealed, token: 't' }, 'one', request)).rejects.toBe(refusal)
    await expect(neighbours.open({ sealed, token: '' }, 'one', request)).rejects.toMatchObject({
      reason: 'token_missing',
    })
    expect(listed).toEqual([])
  })

  it('open within a minute, and only for the instance that asked', async () => {
    const { neighbours, wait, checked } = open()
    const { data: sealed } = neighbours.seal('account', {}, 'one')
    const body = { sealed, token: 't' }
    const refused = { reason: 'invalid_params' }
    await expect(neighbours.open(body, 'other', request)).rejects.toMatchObject(refused)
    wait(59_999)
    await neighbours.open(body, 'one', request)
    wait(1)
    await expect(neighbours.open(body, 'one', request)).rejects.toMatchObject(refused)
    expect(checked).toHaveLength(1)
  })

  it.each([
    undefined,
    null,
    {},
    [],
    { sealed: {}, token: 't' },
    { sealed: { data: 1, iv: '', tag: '' }, token: 't' },
    { sealed: { data: '', iv: '', tag: '' }, token: 't'.repeat(20_000) },
    { sealed: { data: 'A'.repeat(5000), iv: '', tag: '' }, token: 't' },
    { sealed: { data: '', iv: '', tag: '', more: '' }, token: 't' },
    { sealed: { data: '', iv: '', tag: '' } },
    { sealed: { data: '', iv: '', tag: '' }, token: 't', type: 'other' },
  ])('are refused for %j', async (body) => {
    const { neighbours, checked } = open()
    await expect(neighbours.open(body, 'one', request)).rejects.toMatchObject({ reason: 'invalid_params' })
    expect(checked).toEqual([])
  })
})
