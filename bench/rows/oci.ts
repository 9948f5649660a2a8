import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { savedImage, tarOf } from '../../tests/harness/archives.ts'
import { has } from '../../tests/harness/installed.ts'
import { type Podman, podmanNeeds, removeContainers as removePeers } from '../../tests/harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../tests/harness/podman-services.ts'
import { isolationOf } from '../../tests/system/field/isolation.ts'
import { medianRow, type Row, rounds, timed } from '../measure.ts'

/** What differs between the rows: the way out of the container. */
interface Kind {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  /** Options of the network of the peer. */
  readonly network: readonly string[]
}

const kinds: readonly Kind[] = [
  { name: 'without a way out', env: { 'MCM.OUTBOUND': 'none' }, network: ['--internal'] },
  // `podman run` has nothing like the packet filter: its container reaches everything.
  { name: 'with the packet filter', env: {}, network: [] },
]

/** Starts and removes containers of `podman run`. */
interface Peer {
  start(round: number): Promise<void>
  remove(round: number): Promise<void>
  /** Removes its network. */
  close(): void
}

/** Milliseconds for a start. */
const startLimitMs = 120_000

/** @throws Error after the limit of a start */
async function until(isThere: () => Promise<boolean>): Promise<void> {
  const begin = performance.now()
  while (!(await isThere())) {
    if (performance.now() - begin > startLimitMs) throw new Error('the container does not answer')
    await sleep(1)
  }
}

/**
 * A stopped OCI container until it answers again, through the gateway, against `podman run` of the same image until that answers at its
 * address. The peer has the same user IDs, capabilities, limits and settings of the kernel, and a network of its own that is there
 * already: the runtime makes one at each start.
 */
export async function ociRows(): Promise<Row[]> {
  if (!has(...podmanNeeds, 'busybox')) {
    process.stderr.write('skipped: OCI container start, which needs Podman and busybox-static\n')
    return []
  }
  const stack = await startPodmanServices()
  try {
    const { id: image, digest } = await stack.services.deployImage(webImage())
    const rows: Row[] = []
    for (const kind of kinds) rows.push(await measure(stack, kind, image, digest))
    return rows
  } finally {
    await stack.stop()
  }
}

const webImage = (): Buffer =>
  savedImage({
    name: 'web',
    layers: [
      tarOf([
        { path: 'bin', type: 'Directory' as const },
        { path: 'bin/busybox', content: readFileSync('/bin/busybox') },
        { path: 'www/index.html', content: 'hello' },
      ]),
    ],
    config: {
      Cmd: ['/bin/busybox', 'httpd', '-f', '-p', '8080', '-h', '/www'],
      ExposedPorts: { '8080/tcp': {} },
    },
  })

async function measure(
  { services, podman, removeContainers }: PodmanServices,
  kind: Kind,
  image: string,
  digest: string,
): Promise<Row> {
  const edgeAccessToken = services.token
  const spec = { name: 'web', image, env: kind.env }
  const { id, basePath } = await services.runtime().deployContainer({ edgeAccessToken, spec })
  const [running = ''] = await podman.containers()
  const peer = createPeer(podman, kind, running, tagOf(podman, digest))
  const ours: number[] = []
  const theirs: number[] = []
  // The first round, which is not counted, gives the files of the image to the user IDs of both.
  for (let round = -1; round < rounds; round++) {
    await services.runtime().stopContainer({ edgeAccessToken, id })
    const own = await timed(async () => {
      await services.runtime().startContainer({ edgeAccessToken, id })
      await until(async () => (await services.call(`${basePath}/`)).status === 200)
    })
    const other = await timed(() => peer.start(round))
    expectSame(podman, running, nameOfPeer(round))
    await peer.remove(round)
    if (round < 0) continue
    ours.push(own)
    theirs.push(other)
  }
  await removeContainers()
  peer.close()
  return medianRow(
    {
      name: `OCI container ${kind.name}: start to first 200`,
      unit: 'ms',
      against: 'podman run of the same image with the same settings, in a network that is there',
    },
    { ours, peer: theirs },
    1.15,
  )
}

/** The name of the image in the engine. */
const tagOf = (podman: Podman, digest: string): string =>
  podman
    .run('images', '--format', '{{.Repository}}:{{.Tag}}')
    .split('\n')
    .find((each) => each.includes(digest.slice(7, 39))) ?? ''

const nameOfPeer = (round: number): string => `peer${round}`

/** @param running it gets the settings of this container */
function createPeer(podman: Podman, { network }: Kind, running: string, image: string): Peer {
  const label = podman.run('inspect', '--format', '{{index .Config.Labels "dev.selvedge.ids"}}', running)
  const [uid, gid] = label.trim().split(':')
  const capabilities = podman.run('inspect', '--format', '{{join .BoundingCaps ","}}', running).trim()
  const own = 'peer'
  const ofRunning = podman.run('network', 'inspect', '--format', '{{(index .Subnets 0).Gateway}}', running)
  const prefix = ofRunning.trim().replace(/\.\d+\.\d+$/, '.250')
  // By default, the device has no address in an internal network.
  const addresses = [`--subnet=${prefix}.0/24`, `--gateway=${prefix}.1`]
  podman.run('network', 'create', '--disable-dns', ...addresses, ...network, own)
  const address = `${prefix}.50`
  const options = [
    `--userns=auto:size=65536,uidmapping=0:${uid}:65536,gidmapping=0:${gid}:65536`,
    '--cap-drop=all',
    `--cap-add=${capabilities}`,
    '--security-opt=no-new-privileges',
    '--memory=512m',
    '--cpus=1',
    '--pids-limit=128',
    '--ulimit=nofile=1024:1024',
    '--ulimit=nproc=4096:4096',
    '--sysctl=net.ipv4.ip_unprivileged_port_start=0',
    '--sysctl=net.ipv6.conf.all.disable_ipv6=1',
    '--shm-size=64m',
    '--init',
    `--network=${own}`,
    `--ip=${address}`,
  ]
  const isThere = () =>
    fetch(`http://${address}:8080/`).then(
      ({ ok }) => ok,
      () => false,
    )
  return {
    async start(round) {
      podman.run('run', '--detach', '--name', nameOfPeer(round), ...options, image)
      await until(isThere)
    },
    remove: (round) => removePeers(podman.run, nameOfPeer(round)),
    close: () => void podman.run('network', 'rm', own),
  }
}

/** @throws Error if two containers are not isolated alike */
function expectSame(podman: Podman, one: string, other: string): void {
  const [ours, peer] = [one, other].map((each) => isolationOf(podman, each))
  if (!isDeepStrictEqual(ours, peer))
    throw new Error(`the peer has another isolation: ${JSON.stringify([ours, peer])}`)
}
