/** What engines answered about themselves, each in its own way. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { EngineApi } from './engine-api.ts'
import { createKnownTraits, traitsIn } from './engine-traits.ts'

const podman = {
  ServerVersion: '4.3.1',
  BuildahVersion: '1.28.2',
  SecurityOptions: ['name=seccomp,profile=default'],
}
const docker = {
  ServerVersion: '20.10.24',
  SecurityOptions: ['name=seccomp,profile=default'],
  CgroupVersion: '1',
}
const withOption = (name: string) => ({ ...docker, SecurityOptions: [...docker.SecurityOptions, name] })

it.each([
  ['Podman as root', podman, false],
  ['Podman as an ordinary user', { ...podman, Rootless: true }, true],
  ['Docker as root', docker, false],
  ['Docker as an ordinary user', withOption('name=rootless'), true],
])('reads from the answer of %s whether it has root', (_, answer, isRootless) => {
  expect(traitsIn(answer).isRootless).toBe(isRootless)
})

it.each([
  ['Podman as root, with cgroup v1', { ...podman, CgroupVersion: '1' }, true],
  ['Podman as an ordinary user, with cgroup v1', { ...podman, Rootless: true, CgroupVersion: '1' }, false],
  ['Podman as an ordinary user, with cgroup v2', { ...podman, Rootless: true, CgroupVersion: '2' }, true],
  ['an engine without the memory controller', { ...podman, MemoryLimit: false }, false],
  ['Docker without control groups', { ...docker, CgroupDriver: 'none' }, false],
  ['Docker as root', { ...docker, CgroupDriver: 'cgroupfs', MemoryLimit: true }, true],
])('reads from the answer of %s whether it limits containers', (_, answer, hasCgroups) => {
  expect(traitsIn(answer).hasCgroups).toBe(hasCgroups)
})

it('reads the kind, the user namespace and the seccomp profile', () => {
  expect(traitsIn(podman)).toMatchObject({ isPodman: true, isRemapped: false, hasSeccomp: true })
  expect(traitsIn(withOption('name=userns'))).toMatchObject({ isPodman: false, isRemapped: true })
  expect(traitsIn({ SecurityOptions: null })).toMatchObject({ hasSeccomp: false, isRemapped: false })
})

describe('an engine', () => {
  let nowMs = 0
  let version = 1
  const asked: string[] = []
  const api = {
    socketPath: '/a.sock',
    read: async (path: string) => {
      asked.push(path)
      return { ServerVersion: String(version++) }
    },
    ping: async () => {
      asked.push('/_ping')
    },
  } as unknown as EngineApi
  beforeEach(() => {
    asked.length = 0
    nowMs = 0
    version = 1
  })

  it('is asked once for containers, and a minute later for a description', async () => {
    const known = createKnownTraits(() => nowMs)
    for (let times = 0; times < 2; times++) expect((await known.of(api)).version).toBe('1')
    nowMs = 60_000
    expect((await known.recent(api)).version).toBe('1')
    expect(asked).toEqual(['/info', '/_ping'])
    nowMs = 60_001
    expect((await known.recent(api)).version).toBe('2')
    expect((await known.of(api)).version).toBe('2')
    expect(asked).toEqual(['/info', '/_ping', '/info'])
  })

  it('that does not answer any more is not described', async () => {
    const known = createKnownTraits(() => nowMs)
    await known.of(api)
    const away = { ...api, ping: () => Promise.reject(new Error('away')) }
    await expect(known.recent(away)).rejects.toThrow('away')
  })
})
