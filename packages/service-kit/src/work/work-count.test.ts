import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createLimitedWork, stalledMs } from './limited-work.ts'
import { endWhenClosed } from './until-closed.ts'
import { createWorkCount, createWorkCounts } from './work-count.ts'
import { followWorkload } from './workload.ts'

const reject = () => Promise.reject(new Error('it failed'))
const throwAtOnce = (): Promise<never> => {
  throw new Error('it failed')
}

describe('a count of work', () => {
  it('counts a piece of work down once, however often its end is called', () => {
    const count = createWorkCount()
    const [first] = [count.begin(), count.begin()]
    first()
    first()
    expect(count.underWay).toBe(1)
  })

  it.each([
    ['rejects', reject],
    ['throws', throwAtOnce],
  ])('ends work that %s, and passes the cause on', async (_, work) => {
    const count = createWorkCount()
    await expect(count.during(work)).rejects.toThrow('it failed')
    expect(count.underWay).toBe(0)
  })

  it('counts work from its begin until its promise settles', async () => {
    const count = createWorkCount()
    const { promise, resolve } = Promise.withResolvers<string>()
    const work = count.during(() => promise)
    expect(count.underWay).toBe(1)
    resolve('done')
    expect([await work, count.underWay]).toEqual(['done', 0])
  })
})

describe('counts of several owners', () => {
  it('count each owner and all of them, and forget an owner without work', () => {
    const counts = createWorkCounts()
    const ends = ['a', 'a', 'b'].map((owner) => counts.begin(owner))
    expect([counts.of('a'), counts.of('b'), counts.of('c'), counts.underWay, counts.owners]).toEqual([
      2, 1, 0, 3, 2,
    ])
    ends[0]!()
    ends[0]!()
    ends[2]!()
    expect([counts.of('a'), counts.of('b'), counts.underWay, counts.owners]).toEqual([1, 0, 1, 1])
  })

  it('end work that fails', async () => {
    const counts = createWorkCounts()
    await expect(counts.during('a', throwAtOnce)).rejects.toThrow('it failed')
    expect([counts.of('a'), counts.underWay, counts.owners]).toEqual([0, 0, 0])
  })
})

describe('work that ends when a stream closes', () => {
  const closing = (closed: boolean) => Object.assign(new EventEmitter(), { closed })

  it('ends with the event', () => {
    const count = createWorkCount()
    const stream = closing(false)
    endWhenClosed(stream, count.begin())
    expect(count.underWay).toBe(1)
    stream.emit('close')
    stream.emit('close')
    expect(count.underWay).toBe(0)
  })

  it('ends at once if the stream has closed before', () => {
    const count = createWorkCount()
    endWhenClosed(closing(true), count.begin())
    expect(count.underWay).toBe(0)
  })
})

describe('limited work', () => {
  /** Work that hangs until there is no room. */
  function fill(work: ReturnType<typeof createLimitedWork>): (() => void)[] {
    const ends = []
    while (work.hasRoom()) ends.push(work.begin())
    return ends
  }

  it('is counted until its promise settles, also when it rejects', async () => {
    const work = createLimitedWork()
    const failing = work.run(reject)
    expect(work.underWay).toBe(1)
    await expect(failing).rejects.toThrow('it failed')
    expect(work.underWay).toBe(0)
  })

  it('is not counted if it returns or throws at once', () => {
    const work = createLimitedWork()
    expect(work.run(() => 1)).toBe(1)
    expect(() => work.run(throwAtOnce)).toThrow('it failed')
    expect(work.underWay).toBe(0)
  })

  it('has room again when all of it is complete', () => {
    const work = createLimitedWork()
    for (const end of fill(work)) {
      end()
      end()
    }
    expect([work.underWay, work.hasRoom()]).toEqual([0, true])
  })

  describe('of a route', () => {
    let at = 0
    const workload = followWorkload()
    const route = createLimitedWork({ announced: { kind: 'requests', name: '/one' }, now: () => at })
    createWorkCount('exports').begin()

    it('is stalled if nothing ends for a while after a refusal, until something ends', () => {
      const [first] = fill(route)
      at += stalledMs - 1
      expect(workload.stalled()).toEqual([])
      at += 1
      expect(workload.stalled()).toEqual(['/one'])
      first!()
      expect(workload.stalled()).toEqual([])
    })

    it('is not stalled while nothing is refused, even after a long time', () => {
      at += 100 * stalledMs
      expect(workload.stalled()).toEqual([])
    })

    it('is in the counts of the process', () => {
      expect(workload.counts()).toMatchObject({ requests: route.underWay, exports: 1 })
      workload.stop()
      createWorkCount('exports').begin()
      expect(workload.counts()).toMatchObject({ exports: 1 })
    })
  })
})
