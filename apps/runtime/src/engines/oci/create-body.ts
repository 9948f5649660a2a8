import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Blobs } from '../../images/blobs.ts'
import type { ImageConfig } from '../../images/manifest.ts'
import type { Plan } from '../engine.ts'

/** What a container is, as the engine is told; every safety that it offers is asked for. */
const defaultMemoryMb = 512
const defaultPort = 8080
const maxFiles = 1024

/** Folder in the container with the socket that the runtime answers on. */
const hostFolder = '/run/selvedge'

export const labels = {
  owner: 'dev.selvedge.owner',
  container: 'dev.selvedge.container',
  revision: 'dev.selvedge.revision',
} as const

export const shortHash = (text: string): string => hash('sha256', text, 'hex').slice(0, 12)

/** The volumes of a container, with their names in the engine. */
export const volumesOf = ({ id, settings }: Plan, owner: string): { name: string; target: string }[] =>
  settings['MCM.VOLUMES'].map((each) => {
    const [name = '', target = ''] = each.split(':')
    return { name: `selvedge-${owner}-${shortHash(id)}-${name}`, target }
  })

/** The port that the service listens on: the setting, or what the image exposes, or 8080. */
export async function portOf({ settings, content }: Plan, blobs: Blobs): Promise<number> {
  if (settings['MCM.PORT'] !== undefined) return settings['MCM.PORT']
  const { config } = JSON.parse(await readFile(blobs.pathOf(content.config.digest), 'utf8')) as ImageConfig
  const [exposed] = Object.keys(config?.ExposedPorts ?? {}).filter((each) => !each.endsWith('/udp'))
  return exposed === undefined ? defaultPort : Number.parseInt(exposed, 10)
}

/** The body of `POST /containers/create`. @param folder on this device that holds the instance's socket */
export function createBody(plan: Plan, owner: string, image: string, port: number, folder: string): object {
  const { id, revision, env, settings } = plan
  return {
    Image: image,
    Env: [
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
      `PORT=${port}`,
      `SELVEDGE_SOCKET=${hostFolder}/host`,
    ],
    Labels: { [labels.owner]: owner, [labels.container]: id, [labels.revision]: String(revision) },
    ExposedPorts: { [`${port}/tcp`]: {} },
    HostConfig: {
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Memory: (settings['MCM.MEMORY_MB'] ?? defaultMemoryMb) * 1024 * 1024,
      NanoCpus: Math.round(settings['MCM.CPU'] * 1e9),
      PidsLimit: settings['MCM.PIDS'],
      Ulimits: [
        { Name: 'nofile', Soft: maxFiles, Hard: maxFiles },
        { Name: 'nproc', Soft: 4096, Hard: 4096 },
      ],
      Tmpfs: { '/tmp': 'rw,noexec,nosuid,nodev,size=67108864' },
      // Reaps, and passes the signal on: a program that is process 1 would not hear SIGTERM.
      Init: true,
      RestartPolicy: { Name: 'no' },
      PortBindings: { [`${port}/tcp`]: [{ HostIp: '127.0.0.1', HostPort: '' }] },
      // Read-only: a socket can be spoken to all the same, and nothing can be put in its place.
      Binds: [`${folder}:${hostFolder}:ro`],
      Mounts: volumesOf(plan, owner).map(({ name, target }) => ({
        Type: 'volume',
        Source: name,
        Target: target,
      })),
    },
  }
}
