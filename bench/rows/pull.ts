import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { findProgram, has } from '../../tests/harness/installed.ts'
import { podmanNeeds, startPodman } from '../../tests/harness/podman.ts'
import { temporaryFolder } from '../../tests/harness/processes.ts'
import { type Services, startServices } from '../../tests/harness/services.ts'
import { cpuSeconds, medianRow, type Row, rounds } from '../measure.ts'
import { writeImage } from '../pull/image.ts'
import { startImageRegistry } from '../pull/registry.ts'

interface Cost {
  readonly seconds: number
  /** CPU seconds, user and system, of all threads and child processes. */
  readonly cpu: number
}

/** A program that pulls the image into an empty place, and removes it. */
interface Contestant {
  pull(): Promise<Cost>
  clear(): Promise<unknown>
}

const limit = 1.1
const units = { seconds: 's', cpu: 'CPU s' } as const

/**
 * An image from a registry into the runtime, beside `skopeo copy`: into an OCI layout, which has the layers as they come, and into the
 * storage of Podman, which has them unpacked. The runtime stores them as they come, unpacks each one to verify it, and syncs its disk.
 */
export async function pullRows(): Promise<Row[]> {
  if (!has('skopeo')) {
    process.stderr.write('skipped: pulls, which need skopeo\n')
    return []
  }
  const folder = await temporaryFolder()
  const layout = join(folder.path, 'layout')
  const image = await writeImage(layout)
  const skopeo = createSkopeo(folder.path)
  const registry = await startImageRegistry(folder.path, layout, (reference) =>
    skopeo(['copy', '--dest-tls-verify=false', `oci:${layout}`, `docker://${reference}`]),
  )
  const services = await startServices()
  const podman = has(...podmanNeeds) ? await startPodman() : undefined
  const copied = join(folder.path, 'copied')
  const copyTo = (target: string, env: NodeJS.ProcessEnv, clear: () => unknown): Contestant => ({
    pull: () => skopeo(['copy', '--src-tls-verify=false', `docker://${registry.reference}`, target], env),
    clear: async () => void clear(),
  })
  const toFolder = copyTo(`oci:${copied}`, {}, () => rmSync(copied, { recursive: true }))
  const toPodman = (env: NodeJS.ProcessEnv, remove: () => unknown) =>
    copyTo('containers-storage:localhost/bench:1', env, remove)
  try {
    const [ours, toLayout, toStorage] = await inTurn([
      runtimeContestant(services, registry.reference),
      toFolder,
      ...(podman ? [toPodman(podman.env, () => podman.run('rmi', '--all', '--force'))] : []),
    ])
    const name = `pull of ${Math.round(image.bytes / 1e6)} MB in ${image.layers} layers from ${registry.name}`
    return [
      ...rowsOf(name, 'skopeo copy to an OCI layout', ours!, toLayout!, limit),
      ...(toStorage ? rowsOf(name, 'skopeo copy to the storage of Podman', ours!, toStorage) : []),
    ]
  } finally {
    await services.stop()
    await podman?.stop()
    await registry.stop()
    await folder.remove()
  }
}

/** The costs of each contestant, round by round. The first pull of each, which is not counted, fills the caches of the disk. */
async function inTurn(contestants: readonly Contestant[]): Promise<Cost[][]> {
  const costs = contestants.map((): Cost[] => [])
  for (let round = -1; round < rounds; round++)
    for (const [at, { pull, clear }] of contestants.entries()) {
      const cost = await pull()
      if (round >= 0) costs[at]!.push(cost)
      await clear()
    }
  return costs
}

function runtimeContestant(services: Services, source: string): Contestant {
  const edgeAccessToken = services.token
  return {
    async pull() {
      const [begin, before] = [performance.now(), cpuSeconds(services.runtimePid())]
      await services.runtime().deployImage({ edgeAccessToken, source })
      return {
        seconds: (performance.now() - begin) / 1000,
        cpu: cpuSeconds(services.runtimePid()) - before,
      }
    },
    async clear() {
      for (const { id } of await services.runtime().getImages({ edgeAccessToken }))
        await services.runtime().removeImage({ edgeAccessToken, id })
    },
  }
}

/** CPU seconds of the child processes of this one that have exited: `cutime` and `cstime` of proc_pid_stat(5). */
function childSeconds(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

/** Runs skopeo with settings of its own. @throws Error with what it prints, if it fails */
function createSkopeo(folder: string) {
  const policy = join(folder, 'policy.json')
  writeFileSync(policy, '{"default":[{"type":"insecureAcceptAnything"}]}')
  return async (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Cost> => {
    const [begin, before] = [performance.now(), childSeconds()]
    const child = spawn(findProgram('skopeo')!, ['--policy', policy, ...args], {
      env: { ...process.env, ...env, HOME: folder, TMPDIR: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const exited = once(child, 'exit')
    const printed = await text(child.stderr)
    const [code] = await exited
    if (code !== 0) throw new Error(`skopeo ${args.join(' ')}: ${printed}`)
    return { seconds: (performance.now() - begin) / 1000, cpu: childSeconds() - before }
  }
}

/** @param atMost of the peer's median; left out: the ratio is reported */
const rowsOf = (
  name: string,
  against: string,
  ours: readonly Cost[],
  peer: readonly Cost[],
  atMost?: number,
): Row[] =>
  (['seconds', 'cpu'] as const).map((what) => {
    const figuresOf = (costs: readonly Cost[]) => costs.map((each) => each[what])
    return medianRow(
      { name, unit: units[what], against },
      { ours: figuresOf(ours), peer: figuresOf(peer) },
      atMost,
    )
  })
