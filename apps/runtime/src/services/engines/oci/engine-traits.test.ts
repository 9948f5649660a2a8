/** What engines answered about themselves, each in its own way. */
import { expect, it } from 'vitest'
import { traitsIn } from './engine-traits.ts'

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
