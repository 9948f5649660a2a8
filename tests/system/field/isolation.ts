/** What separates the programs of a container from the device, read from the kernel. */
import { readFileSync } from 'node:fs'
import type { Docker } from '../../harness/docker.ts'
import type { Podman } from '../../harness/podman.ts'

export interface Isolation {
  /** The user of the device that root of the container is. */
  readonly root: number
  /** How many capabilities a program in the container can ever have. */
  readonly capabilities: number
  readonly gainsNoPrivileges: boolean
  readonly hasSeccomp: boolean
}

const field = (status: string, name: string): string =>
  new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1] ?? ''
const bits = (hex: string): number =>
  [...BigInt(`0x${hex || '0'}`).toString(2)].filter((bit) => bit === '1').length

function read(status: string, ids: string): Isolation {
  return {
    root: Number(ids.trim().split(/\s+/)[1]),
    capabilities: bits(field(status, 'CapBnd')),
    gainsNoPrivileges: field(status, 'NoNewPrivs') === '1',
    hasSeccomp: field(status, 'Seccomp') === '2',
  }
}

/** Of a container that runs. */
export function isolationOf(podman: Podman, name: string): Isolation {
  const pid = podman.run('inspect', '--format', '{{.State.Pid}}', name).trim()
  return read(readFileSync(`/proc/${pid}/status`, 'utf8'), readFileSync(`/proc/${pid}/uid_map`, 'utf8'))
}

/** Of the same image with `podman run` and no option, in place of its program `cat`. */
export function isolationOfPodman(podman: Podman, name: string): Isolation {
  const image = podman.run('inspect', '--format', '{{.Image}}', name).trim()
  const cat = (file: string) =>
    podman.run('run', '--rm', '--network', 'none', '--user', '0', '--entrypoint', '["/bin/cat"]', image, file)
  return read(cat('/proc/self/status'), cat('/proc/self/uid_map'))
}

/** The same with `docker run`. @param archive of the image, as `docker save` writes it */
export function isolationOfDocker({ run, runWith }: Docker, archive: Buffer): Isolation {
  const loaded = runWith(archive, 'load', '--quiet')
  const [, image] = /^Loaded image(?: ID)?: (\S+)/m.exec(loaded) ?? []
  if (image === undefined) throw new Error(`docker load printed ${JSON.stringify(loaded)}`)
  const cat = (file: string) =>
    run('run', '--rm', '--network=none', '--user=0', '--entrypoint=/bin/cat', image, file)
  const isolation = read(cat('/proc/self/status'), cat('/proc/self/uid_map'))
  run('image', 'rm', '--force', image)
  return isolation
}
