import { spawn } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { allocatorEnv } from '@selvedge/service-kit/lifecycle'
import { temporaryFolder } from '../../tests/harness/processes.ts'
import { costRow, type Row, root, rounds, stop } from '../measure.ts'

/** Seconds for which the idle runtime is watched. */
const idle = Number(process.env.SELVEDGE_BENCH_IDLE ?? 60)

const pss = (pid: number) =>
  Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))![1])
/** Memory that no file backs: what a process costs of its own. */
const anonymous = (pid: number) =>
  Number(/^Anonymous:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))![1])
const written = (pid: number) =>
  Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1])
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Starts a program on a port and asks it until it answers. Gives the milliseconds that took. */
async function startAndAsk(
  program: string,
  args: readonly string[],
  port: number,
  env: Record<string, string>,
) {
  const begin = performance.now()
  const child = spawn(program, args, {
    env: { ...env, PATH: process.env.PATH },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const init = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"jsonrpc":"2.0","method":"getMe","id":1}',
  }
  for (;;) {
    const answered = await fetch(`http://127.0.0.1:${port}/jsonrpc/v1`, init).then(
      (response) => response.ok,
      () => false,
    )
    if (answered) return { child, milliseconds: performance.now() - begin }
    await sleep(1)
  }
}

/** The runtime beside a bare `node:http` process: start, memory, and what it writes while nothing happens. */
export async function footprintRows(): Promise<Row[]> {
  const folder = await temporaryFolder()
  // A copy of the program, so that its pages are not shared with the bench's own processes: on a device there is one of it.
  const node = join(folder.path, 'node')
  copyFileSync(process.execPath, node)
  const bareScript = `require('node:http').createServer((q, r) => { q.resume(); q.on('end', () => r.end('{}')) }).listen(18093, '127.0.0.1')`
  const bare = ['-e', bareScript]
  const runtime = [join(root, 'apps/runtime/dist/main.cjs')]
  const nowhere = 'http://127.0.0.1:9'
  const env = {
    // As the stack and the units of systemd start it.
    ...allocatorEnv,
    SELVEDGE_STATE: folder.path,
    SELVEDGE_RUNTIME_PORT: '18094',
    SELVEDGE_IDENTITY_URL: nowhere,
    SELVEDGE_DISCOVERY_URL: nowhere,
  }
  const start = { ours: [] as number[], peer: [] as number[] }
  const memory = { ours: [] as number[], peer: [] as number[] }
  await stop((await startAndAsk(node, runtime, 18094, env)).child)
  for (let round = 0; round < Math.max(rounds, 3); round++) {
    for (const [name, args, port] of [
      ['peer', bare, 18093],
      ['ours', runtime, 18094],
    ] as const) {
      const { child, milliseconds } = await startAndAsk(node, args, port, env)
      start[name].push(milliseconds)
      await sleep(1500)
      memory[name].push(pss(child.pid!))
      await stop(child)
    }
  }
  const { child } = await startAndAsk(node, runtime, 18094, env)
  const { child: idlePeer } = await startAndAsk(node, bare, 18093, {})
  await sleep(2000)
  const before = written(child.pid!)
  await sleep(idle * 1000)
  const bytes = written(child.pid!) - before
  const own = { ours: [anonymous(child.pid!)], peer: [anonymous(idlePeer.pid!)] }
  await stop(child)
  await stop(idlePeer)
  await folder.remove()
  const against = 'bare node:http process'
  return [
    costRow({ name: 'runtime: start to first answer', unit: 'ms', against }, start, 2.5),
    costRow({ name: 'runtime: idle PSS', unit: 'kB', against }, memory, 1.6),
    costRow({ name: `runtime: anonymous memory, ${idle} s idle`, unit: 'kB', against }, own, 1.7),
    {
      name: `runtime: bytes written in ${idle} idle seconds`,
      ours: bytes,
      peer: 0,
      ratio: bytes,
      unit: 'bytes',
      against: 'nothing',
      reach: '0',
      reached: bytes === 0,
    },
  ]
}
