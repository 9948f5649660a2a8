import { describe, expect, it } from 'vitest'
import type { DpopError } from './checks/proof.ts'
import { UsedProofs } from './used-proofs.ts'

const lifeMs = 1000
let at = 0
const open = (limits: { max: number; maxPerOwner: number }) => {
  at = 0
  const proofs = new UsedProofs({ lifeMs, ...limits })
  return (jkt: string, jti: string, owner?: string): string => {
    try {
      proofs.use(jkt, jti, at, owner)
      return 'accepted'
    } catch (cause) {
      return (cause as DpopError).code
    }
  }
}

describe('proofs that were used', () => {
  it('are refused until they end, and only for their key', () => {
    const use = open({ max: 10, maxPerOwner: 10 })
    expect(use('a', '1')).toBe('accepted')
    at = lifeMs - 1
    expect(use('a', '1')).toBe('invalid_dpop_proof')
    expect(use('b', '1')).toBe('accepted')
    at = lifeMs
    expect(use('a', '1')).toBe('accepted')
  })

  it('are not forgotten while they are valid: when the memory is full, new ones are refused', () => {
    const use = open({ max: 3, maxPerOwner: 3 })
    for (const jti of ['1', '2', '3']) expect(use('a', jti)).toBe('accepted')
    for (const jti of ['4', '5']) expect(use(jti, jti)).toBe('busy')
    for (const jti of ['1', '2', '3']) expect(use('a', jti)).toBe('invalid_dpop_proof')
    at = lifeMs
    expect(use('b', '4')).toBe('accepted')
  })

  it('of one account leave room for those of others, however many keys it has', () => {
    const use = open({ max: 10, maxPerOwner: 2 })
    for (const jkt of ['a', 'b']) expect(use(jkt, '1', 'account')).toBe('accepted')
    for (const jkt of ['a', 'c']) expect(use(jkt, '2', 'account')).toBe('busy')
    expect(use('a', '1', 'other account')).toBe('invalid_dpop_proof')
    expect(use('a', '3', 'other account')).toBe('accepted')
    at = lifeMs
    for (const jkt of ['c', 'd']) expect(use(jkt, '3', 'account')).toBe('accepted')
  })

  it('of one key count one by one as they end', () => {
    const use = open({ max: 10, maxPerOwner: 2 })
    expect(use('a', '1')).toBe('accepted')
    at = lifeMs / 2
    expect(use('a', '2')).toBe('accepted')
    at = lifeMs
    expect(use('a', '3')).toBe('accepted')
    expect(use('a', '4')).toBe('busy')
  })

  it('of one key leave room for those of others', () => {
    const use = open({ max: 10, maxPerOwner: 2 })
    for (const jti of ['1', '2']) expect(use('a', jti)).toBe('accepted')
    expect(use('a', '3')).toBe('busy')
    expect(use('b', '3')).toBe('accepted')
    at = lifeMs
    for (const jti of ['4', '5']) expect(use('a', jti)).toBe('accepted')
    expect(use('a', '6')).toBe('busy')
  })
})

it('a refusal names the limit that is reached: of the key, of the account, or of all', () => {
  const refusalOf = (limits: { max: number; maxPerOwner: number }, owner?: string): string => {
    const proofs = new UsedProofs({ lifeMs: 2000, ...limits })
    try {
      for (const jti of ['1', '2', '3']) proofs.use('key', jti, 0, owner)
      return 'accepted'
    } catch (cause) {
      return (cause as DpopError).message
    }
  }
  const end = 'were used within 2 s, which is the limit; try again later'
  expect(refusalOf({ max: 9, maxPerOwner: 2 })).toBe(`2 proofs of this key ${end}`)
  expect(refusalOf({ max: 9, maxPerOwner: 1 }, 'a')).toBe(`1 proofs of this account ${end}`)
  expect(refusalOf({ max: 2, maxPerOwner: 9 })).toBe(`2 proofs ${end}`)
  expect(refusalOf({ max: 3, maxPerOwner: 3 })).toBe('accepted')
})
