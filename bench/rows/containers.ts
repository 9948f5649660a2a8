import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { functionImage } from '../../tests/harness/archives.ts'
import { type Services, startServices } from '../../tests/harness/services.ts'
import { limitRow, median, type Row, rounds, timed } from '../measure.ts'

/** How many containers are idle at once when their memory is measured. */
const idleContainers = 200
/** Milliseconds after which the collector of V8 has seen that nothing goes on, and has given back what it needs no more. */
const settling = 20_000
const hello = 'export default { fetch() { return new Response("hello") } }'

const memoryOf = (pid: number): number =>
  Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))![1])

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
  return rows
}
