import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createDiskWatch, type DiskWatch, type DiskWatchParts, type Watched } from './disk-watch.ts'
import { type EngineApi, EngineError } from './engine-api.ts'
import { hasQuota } from './engine-traits.ts'

const mib = 1024 * 1024
/** What the engine answers: bytes of a container, or of a volume; undefined for one that it does not know. */
let sizes: Record<string, number | undefined>
let asked: string[]
let watch: DiskWatch

const api = {
  async read(path: string) {
    asked.push(path)
    if (path.startsWith('/system/df')) {
      const volumes = Object.entries(sizes).filter(([name]) => name.startsWith('volume'))
      return {
        Volumes: volumes.map(([Name, Size]) => ({ Name, UsageData: Size === undefined ? null : { Size } })),
      }
    }
    const [, name = ''] = /^\/containers\/(\w+)\/json\?size=true$/.exec(path) ?? []
    if (sizes[name] === undefined) throw new Error('no such container')
    return { SizeRw: sizes[name] }
  },
} as unknown as EngineApi

const start = (parts: Partial<DiskWatchParts> = {}) => {
  watch = createDiskWatch({ folder: () => undefined, now: () => Date.now(), ...parts })
}
const full: [string, number][] = []
const watched = (name: string, maxBytes = 10 * mib, volumes: readonly string[] = []): Watched => ({
  api,
  name,
  volumes,
  maxBytes,
  onFull: (bytes) => full.push([name, bytes]),
})
/** Time in which each container is measured at least once: what could happen on the disk is read by a thread. */
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

beforeEach(() => {
  vi.useFakeTimers()
  sizes = {}
  asked = []
  full.length = 0
})
afterEach(() => {
  watch.close()
  vi.useRealTimers()
})

describe('a container', () => {
  it('is reported when it has more than its limit, once', async () => {
    start()
    sizes = { one: 10 * mib, two: 10 * mib + 1 }
    watch.watch(watched('one'))
    watch.watch(watched('two'))
    await pass(60_000)
    expect(full).toEqual([['two', 10 * mib + 1]])
    sizes = { one: 11 * mib }
    await pass(60_000)
    expect(full.map(([name]) => name)).toEqual(['two', 'one'])
  })

  it('is measured with the volumes of its image, and with no others', async () => {
    start()
    sizes = { one: 6 * mib, volume1: 5 * mib, volume2: 100 * mib, two: 6 * mib }
    watch.watch(watched('one', 10 * mib, ['volume1']))
    watch.watch(watched('two'))
    await pass(10_000)
    expect(full).toEqual([['one', 11 * mib]])
  })

  it('that the engine does not know, or that exited, is not reported; others are', async () => {
    start()
    sizes = { gone: 20 * mib, one: 20 * mib }
    watch.watch(watched('unknown'))
    const stop = watch.watch(watched('gone'))
    watch.watch(watched('one'))
    stop()
    await pass(10_000)
    expect(full.map(([name]) => name)).toEqual(['one'])
  })

  it('is measured without its volumes, and no failure is reported, when another one was removed meanwhile', async () => {
    start()
    sizes = { one: 11 * mib, volume1: 5 * mib }
    const gone = new EngineError(
      500,
      'failed to get state of container 1: it does not exist: no such container',
    )
    const read = (path: string, schema: never) =>
      path.startsWith('/system') ? Promise.reject(gone) : api.read(path, schema)
    watch.watch({ ...watched('one', 10 * mib, ['volume1']), api: { ...api, read } as EngineApi })
    await pass(10_000)
    expect(full).toEqual([['one', 11 * mib]])
  })

  it('is measured rarely, however long that lasts', async () => {
    let now = 0
    start({ now: () => now })
    sizes = { one: 0 }
    watch.watch({
      ...watched('one'),
      api: {
        ...api,
        async read(path: string, schema: never) {
          now += 10_000
          return api.read(path, schema)
        },
      },
    })
    for (let second = 0; second < 600; second++) {
      now += 1000
      await pass(1000)
    }
    // 10 s of work in 210 s.
    expect(asked.length).toBeLessThanOrEqual(4)
    expect(asked.length).toBeGreaterThan(1)
  })
})

it('measures nothing while there is no container', async () => {
  start()
  await pass(600_000)
  expect(asked).toEqual([])
})

describe('the disk refuses more itself', () => {
  const info = {
    Driver: 'overlay',
    DriverStatus: [
      ['Supports d_type', 'true'],
      ['Backing Filesystem', 'xfs'],
    ],
    DockerRootDir: '/var/lib/containers/storage',
  }
  const mounts = (options: string) =>
    `/dev/a / ext4 rw,prjquota 0 0\n/dev/b /var/lib/containers xfs ${options} 0 0\n/dev/c /var/lib/con xfs rw,prjquota 0 0\n`
  it.each([
    [true, 'of XFS with project quotas', info, 'rw,relatime,prjquota'],
    [true, 'of XFS with project quotas, by their other name', { ...info, Driver: 'overlay2' }, 'rw,pquota'],
    [false, 'of XFS without', info, 'rw,relatime,noquota'],
    [false, 'of XFS with quotas of users', info, 'rw,usrquota'],
    [
      false,
      'of another file system',
      { ...info, DriverStatus: [['Backing Filesystem', 'extfs']] },
      'rw,prjquota',
    ],
    [false, 'of another driver', { ...info, Driver: 'vfs' }, 'rw,prjquota'],
    [false, 'that is not known', { Driver: 'overlay', DriverStatus: info.DriverStatus }, 'rw,prjquota'],
  ])('%s: %s', (expected, _, found, options) =>
    expect(hasQuota(found as never, mounts(options))).toBe(expected),
  )
})
