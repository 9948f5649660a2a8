import { describe, expect, it } from 'vitest'
import { createOwnerShare } from './owner-share.ts'
import type { Owner } from './ownership.ts'

const owner = (client_id: string): Owner => ({ account_id: 'a', client_id })

describe('a share of a limit of the device', () => {
  const start = () => {
    const share = createOwnerShare({ what: 'uploads', onDevice: 8, ofOwner: 8 })
    const ends: PromiseWithResolvers<void>[] = []
    /** Begins works of a project until one is refused. @returns how many began */
    function fill(project: string): number {
      let begun = 0
      const begin = () => {
        begun++
        const end = Promise.withResolvers<void>()
        ends.push(end)
        return end.promise
      }
      for (let at = 0; at < 8; at++) share.run(owner(project), begin).catch(() => undefined)
      return begun
    }
    return { share, ends, fill }
  }

  it('leaves half of what is free for others, each time', async () => {
    const { fill, ends } = start()
    const begun = []
    for (const project of ['first', 'second', 'third', 'fourth', 'fifth']) begun.push(fill(project))
    expect(begun).toEqual([4, 2, 1, 1, 0])
    for (const { resolve } of ends) resolve()
  })

  it('is never more than the limit of one project, which the refusal names', async () => {
    const share = createOwnerShare({ what: 'uploads', onDevice: 100, ofOwner: 1 })
    const { promise, resolve } = Promise.withResolvers<void>()
    const first = share.run(owner('c'), () => promise)
    await expect(share.run(owner('c'), () => promise)).rejects.toMatchObject({
      reason: 'busy',
      message:
        'this project has 1 uploads under way; at present its limit is 1 (the limit of all projects is 100)',
    })
    resolve()
    await first
  })

  it('is free again when the work is complete, has failed, or threw at once', async () => {
    const { share, ends, fill } = start()
    expect(fill('c')).toBe(4)
    ends[0]!.resolve()
    ends[1]!.reject(new Error('failed'))
    await expect.poll(() => share.run(owner('c'), async () => 'ok')).toBe('ok')
    const thrown = () => {
      throw new Error('at once')
    }
    await expect(share.run(owner('c'), thrown)).rejects.toThrow('at once')
    expect(fill('c')).toBe(2)
    for (const { resolve } of ends) resolve()
  })
})
