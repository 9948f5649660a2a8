/**
 * The load generator: a process of its own, raw sockets, one request at a time on each connection. Started with a plan as JSON
 * on its command line; prints a result as JSON. Load is bounded in time by the plan.
 */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

export interface Plan {
  readonly target: { readonly host: string; readonly port: number } | { readonly path: string }
  readonly path: string
  readonly type: string
  /** File with one body a line; they are sent in turn. */
  readonly bodies: string
  /** File with the Authorization header of each body, a line each. */
  readonly authorizations?: string
  readonly connections: number
  /** More header lines, such as a token. */
  readonly headers?: Readonly<Record<string, string>>
  readonly seconds: number
  /** Requests a second in all, from an open loop: latency counts from the planned time. Absent: as fast as answers come. */
  readonly rate?: number
}

export interface Result {
  readonly answers: number
  /** Answers that are not 200, or hold an error. */
  readonly failures: number
  readonly seconds: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly sample: string
}

const plan = JSON.parse(process.argv[2]!) as Plan
const host = 'port' in plan.target ? `${plan.target.host}:${plan.target.port}` : 'localhost'
const more = Object.entries(plan.headers ?? {})
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')
const linesOf = (file: string) => readFileSync(file, 'utf8').trimEnd().split('\n')
const authorizations = plan.authorizations === undefined ? [] : linesOf(plan.authorizations)
const requests = linesOf(plan.bodies).map((body, at) => {
  const own = authorizations[at] === undefined ? '' : `Authorization: ${authorizations[at]}\r\n`
  return Buffer.from(
    `POST ${plan.path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${plan.type}\r\n${own}${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
})
let next = 0
let answers = 0
let failures = 0
let sample = ''
let over = false
const latencies: number[] = []

function drive(socket: Socket): { send(since: number): void; busy: boolean } {
  let text = ''
  const self = { busy: false, since: 0, send }
  function send(since: number): void {
    self.busy = true
    self.since = since
    socket.write(requests[next++ % requests.length]!)
  }
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    const head = text.indexOf('\r\n\r\n')
    if (head === -1) return
    const length = /content-length: (\d+)/i.exec(text.slice(0, head))
    if (length ? text.length < head + 4 + Number(length[1]) : !text.endsWith('0\r\n\r\n')) return
    answers++
    if (!text.startsWith('HTTP/1.1 200') || text.includes('"error"')) {
      failures++
      sample = text.slice(0, 400)
    } else if (sample === '') sample = text.slice(head + 4, head + 204)
    latencies.push(performance.now() - self.since)
    text = ''
    self.busy = false
    if (plan.rate === undefined && !over) send(performance.now())
  })
  socket.on('error', (cause) => {
    if (!over) throw cause
  })
  return self
}

const drivers = await Promise.all(
  Array.from(
    { length: plan.connections },
    () =>
      new Promise<ReturnType<typeof drive>>((resolve) => {
        const socket: Socket = connect(plan.target as never, () => resolve(drive(socket)))
        socket.setNoDelay(true)
      }),
  ),
)
const start = performance.now()
if (plan.rate === undefined) for (const each of drivers) each.send(performance.now())
else {
  const waiting: number[] = []
  let planned = 0
  const timer = setInterval(() => {
    const due = ((performance.now() - start) / 1000) * plan.rate!
    while (planned < due && !over) waiting.push(start + (planned++ / plan.rate!) * 1000)
    for (const each of drivers) if (!each.busy && waiting.length > 0) each.send(waiting.shift()!)
    if (over) clearInterval(timer)
  }, 1)
}
await new Promise((resolve) => setTimeout(resolve, plan.seconds * 1000))
over = true
const seconds = (performance.now() - start) / 1000
latencies.sort((a, b) => a - b)
const at = (part: number) =>
  latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))] ?? Number.NaN
const result: Result = { answers, failures, seconds, p50: at(0.5), p99: at(0.99), sample }
process.stdout.write(JSON.stringify(result), () => process.exit(0))
