import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { functionImage, savedImage, tarOf } from '../../tests/harness/archives.ts'
import { has } from '../../tests/harness/installed.ts'
import { podmanNeeds, startPodman } from '../../tests/harness/podman.ts'
import { type Services, startServices } from '../../tests/harness/services.ts'
import { costRow, limitRow, median, type Row, rounds } from '../measure.ts'

/** How many containers are idle at once when their memory is measured. */
const idleContainers = 200
/** Milliseconds after which the collector of V8 has seen that nothing goes on, and has given back what it needs no more. */
const settling = 20_000
const hello = 'export default { fetch() { return new Response("hello") } }'

const memoryOf = (pid: number): number =>
  Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))![1])

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await work()
  return performance.now() - begin
}

async function untilAnswer(services: Services, path: string): Promise<void> {
  while ((await services.call(path)).status !== 200) await sleep(1)
}

const stateOf = async ({ runtime, token }: Services, id: string) =>
  (await runtime().getContainers({ edgeAccessToken: token })).find((each) => each.id === id)

/** Deploying, starting on demand, and what containers cost while they run and while they do not. */
export async function containerRows(): Promise<Row[]> {
  const services = await startServices()
  const { id: image } = await services.deployImage(functionImage(hello, 'hello'))
  const deploy = (name: string, env: Record<string, string> = {}) =>
    services.runtime().deployContainer({ edgeAccessToken: services.token, spec: { name, image, env } })
  const rows: Row[] = []
  try {
    await deploy('warm')
    const deploys: number[] = []
    for (let round = 0; round < rounds * 3; round++) {
      const path = `/${services.developer.clientId}/d${round}`
      deploys.push(
        await timed(async () => {
          await deploy(`d${round}`)
          await untilAnswer(services, path)
        }),
      )
    }
    rows.push(
      limitRow(
        {
          name: 'deploy of a present function image to its first 200, median',
          unit: 'ms',
          against: 'the limit',
        },
        median(deploys),
        150,
      ),
    )

    const { id, basePath } = await deploy('cold', { 'MCM.IDLE_SEC': '1' })
    const cold: number[] = []
    let running = 0
    for (let round = 0; round < rounds * 2; round++) {
      while ((await stateOf(services, id))?.state !== 'paused') await sleep(50)
      cold.push(await timed(() => untilAnswer(services, basePath)))
      running = (await stateOf(services, id))?.memory ?? 0
    }
    rows.push(
      limitRow({ name: 'cold first request, median', unit: 'ms', against: 'the limit' }, median(cold), 80),
    )
    rows.push({
      name: 'memory of a running function',
      ours: running / 1024,
      peer: 0,
      ratio: 0,
      unit: 'kB',
      against: 'nothing',
      reach: 'reported',
      reached: null,
    })

    const pid = services.stack.runtime.process.pid!
    // What is paid once, for compiled code and for room to work in, is no container's.
    for (let at = 0; at < idleContainers / 2; at++) {
      const { id: warmed } = await deploy(`warm${at}`)
      await services.runtime().removeContainer({ edgeAccessToken: services.token, id: warmed })
    }
    await sleep(settling)
    const before = memoryOf(pid)
    for (let at = 0; at < idleContainers; at++) await deploy(`idle${at}`, { 'MCM.IDLE_SEC': '1' })
    const isPaused = async () =>
      (await services.runtime().getContainers({ edgeAccessToken: services.token })).filter(
        ({ name, state }) => name.startsWith('idle') && state !== 'paused',
      ).length === 0
    while (!(await isPaused())) await sleep(200)
    await sleep(settling)
    rows.push(
      limitRow(
        {
          name: `memory of a paused container in the runtime (of ${idleContainers})`,
          unit: 'kB',
          against: 'the limit',
        },
        (memoryOf(pid) - before) / idleContainers,
        100,
      ),
    )
  } finally {
    await services.stop()
  }
  if (has(...podmanNeeds, 'busybox')) rows.push(await ociRow())
  else process.stderr.write('skipped: OCI container start, which needs Podman and busybox-static\n')
  return rows
}

/** A stopped container until it answers again, against the same image by `podman run`, with the same settings. */
async function ociRow(): Promise<Row> {
  const podman = await startPodman()
  const services = await startServices({ args: [`--oci.socket=${podman.socket}`] })
  try {
    const files = [
      { path: 'bin', type: 'Directory' as const },
      { path: 'bin/busybox', content: readFileSync('/bin/busybox') },
      { path: 'run/selvedge', type: 'Directory' as const },
      { path: 'tmp', type: 'Directory' as const },
      { path: 'www/index.html', content: 'hello' },
    ]
    const config = {
      Cmd: ['/bin/busybox', 'httpd', '-f', '-p', '8080', '-h', '/www'],
      ExposedPorts: { '8080/tcp': {} },
    }
    const { id: image, digest } = await services.deployImage(
      savedImage({ name: 'web', layers: [tarOf(files)], config }),
    )
    const edgeAccessToken = services.token
    const { id, basePath } = await services
      .runtime()
      .deployContainer({ edgeAccessToken, spec: { name: 'web', image, env: {} } })
    const [tag = ''] = podman
      .run('images', '--format', '{{.Repository}}:{{.Tag}}')
      .trim()
      .split('\n')
      .filter((each) => each.includes(digest.slice(7, 39)))
    const flags =
      '--read-only --cap-drop=all --security-opt=no-new-privileges --memory=512m --cpus=1 --pids-limit=128 --init --ulimit=nofile=1024:1024 --ulimit=nproc=4096:4096'.split(
        ' ',
      )
    const ours: number[] = []
    const peer: number[] = []
    for (let round = 0; round < rounds; round++) {
      await services.runtime().stopContainer({ edgeAccessToken, id })
      ours.push(
        await timed(async () => {
          await services.runtime().startContainer({ edgeAccessToken, id })
          await untilAnswer(services, `${basePath}/`)
        }),
      )
      const port = 18_200 + round
      peer.push(
        await timed(async () => {
          podman.run('run', '-d', '--name', `peer${round}`, '-p', `127.0.0.1:${port}:8080`, ...flags, tag)
          while (
            !(await fetch(`http://127.0.0.1:${port}/`).then(
              (answer) => answer.ok,
              () => false,
            ))
          )
            await sleep(1)
        }),
      )
      podman.run('rm', '--force', '--time', '0', `peer${round}`)
    }
    return costRow(
      { name: 'OCI container: start to first 200', unit: 'ms', against: 'podman run of the same image' },
      { ours, peer },
      1.15,
    )
  } finally {
    await services.stop()
    await podman.stop()
  }
}
