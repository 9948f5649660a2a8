import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isInstalled } from '../../tests/harness/installed.ts'
import { instanceFolder } from '../../tests/harness/instances.ts'
import { startServices } from '../../tests/harness/services.ts'
import {
  type Figures,
  limitRow,
  perCpuSecond,
  type Row,
  rateRow,
  rounds,
  runLoad,
  type Server,
  stop,
} from '../measure.ts'

/** The same code for both sandboxes. */
const hello = 'export default { fetch() { return new Response("hello") } }'
const perCpu = 'requests per CPU second'

/** nginx on one process, with kept connections to the same upstream, as its manual tells. */
async function startNginx(folder: string, upstream: string): Promise<Server> {
  const port = 18_095
  const config = `worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 512; }
http {
  access_log off;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  keepalive_requests 100000000;
  upstream service { server unix:${upstream}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; }
  }
}
`
  writeFileSync(join(folder, 'nginx.conf'), config)
  const child = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-g', 'daemon off; master_process off;'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  while (
    !(await fetch(`http://127.0.0.1:${port}/`).then(
      (answer) => answer.ok,
      () => false,
    ))
  )
    await new Promise((resolve) => setTimeout(resolve, 20))
  return { process: child, target: { host: '127.0.0.1', port }, stop: () => stop(child) }
}

/** workerd, where there is one: it is no dependency of ours, since its packages run install scripts. */
async function startWorkerd(folder: string): Promise<Server | undefined> {
  const program = process.env.SELVEDGE_BENCH_WORKERD
  if (!program) return undefined
  const path = join(folder, 'workerd.sock')
  writeFileSync(join(folder, 'hello.js'), hello)
  writeFileSync(
    join(folder, 'workerd.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "main", worker = (modules = [(name = "hello.js", esModule = embed "hello.js")], compatibilityDate = "2026-01-01")), (name = "internet", network = (allow = [])) ],
  sockets = [ (name = "http", service = "main") ],
);
`,
  )
  const child = spawn(program, ['serve', join(folder, 'workerd.capnp'), `-shttp=unix:${path}`], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20))
  return { process: child, target: { path }, stop: () => stop(child) }
}

/** The process of the sandbox that does the work: the last one down the line. */
function lastChild(pid: number): number {
  for (const each of readdirSync('/proc')) {
    if (!/^\d+$/.test(each)) continue
    try {
      const stat = readStat(Number(each))
      if (stat.parent === pid) return lastChild(Number(each))
    } catch {
      // It has just ended.
    }
  }
  return pid
}

const readStat = (pid: number): { parent: number } => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return { parent: Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]) }
}

/** The gateway, token check included, against nginx in front of the same function; and the function against workerd. */
export async function gatewayRows(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-bench-'))
  const services = await startServices()
  const { basePath } = await services.deploy('hello', hello, { 'MCM.IDLE_SEC': '0' })
  const instances = instanceFolder(services.stack.state)
  const upstream = join(instances, readdirSync(instances)[0]!, 'service')
  const bodies = join(folder, 'bodies')
  writeFileSync(bodies, 'hello')
  const headers = { Authorization: `Bearer ${services.token}` }
  const { process: runtimeProcess } = services.stack.runtime
  const gateway: Server = {
    process: runtimeProcess,
    target: { host: '127.0.0.1', port: Number(new URL(services.url()).port) },
    asks: { path: basePath, headers },
    stop: async () => undefined,
  }
  const plan = { type: 'text/plain', bodies, connections: 32 }
  const rows: Row[] = []
  try {
    if (isInstalled('nginx')) {
      const nginx = await startNginx(folder, upstream)
      const [ours, peer] = (await perCpuSecond([gateway, nginx], plan)) as unknown as [Figures, Figures]
      await nginx.stop()
      const description = {
        name: 'gateway with token check',
        unit: perCpu,
        against: 'nginx in front of the same function',
      }
      rows.push(rateRow(description, { ours, peer }, 0.4))
    } else process.stderr.write('skipped: gateway against nginx, which is not installed\n')

    const through: number[] = []
    const direct: number[] = []
    for (let round = 0; round < rounds; round++) {
      const paced = { ...plan, connections: 8, rate: 1000, seconds: 3 }
      through.push((await runLoad({ ...paced, target: gateway.target, path: basePath, headers })).p50)
      direct.push((await runLoad({ ...paced, target: { path: upstream }, path: '/' })).p50)
    }
    rows.push(
      limitRow(
        {
          name: 'gateway: added p50 at 1,000 requests per second',
          unit: 'ms',
          against: 'the same function directly',
        },
        Math.min(...through) - Math.min(...direct),
        0.25,
      ),
    )

    const workerd = await startWorkerd(folder)
    if (workerd) {
      const own: Server = {
        process: { pid: lastChild(runtimeProcess.pid!) } as never,
        target: { path: upstream },
        stop: async () => undefined,
      }
      const [ours, peer] = (await perCpuSecond([own, workerd], plan)) as unknown as [Figures, Figures]
      await workerd.stop()
      rows.push(
        rateRow(
          { name: 'function', unit: perCpu, against: 'workerd hosting the same code' },
          { ours, peer },
          2,
        ),
      )
    } else
      process.stderr.write('skipped: function against workerd; name its program in SELVEDGE_BENCH_WORKERD\n')
    return rows
  } finally {
    await services.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
