/**
 * An open-loop load generator: requests are sent at their planned times, whatever the answers do. Each takes an idle connection
 * or opens one, as independent clients would. Latency counts from the planned time, so that a server that stalls can't hide it.
 *
 * A process of its own: gets a {@link Plan} as JSON on its command line, prints a {@link Result} as JSON.
 */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

export interface Plan {
  readonly host: string
  readonly port: number
  /** A file with a JSON list of requests, each the whole text of one; they are sent in turn. */
  readonly requests: string
  /** Requests per second; 0: a closed loop, in which each connection sends its next request after an answer. */
  readonly rate: number
  /** Seconds that are not measured, and seconds that are. */
  readonly warmUpSeconds: number
  readonly seconds: number
  /** Connections that may be open at the same time; a request beyond them is not sent. */
  readonly connections: number
  /** Milliseconds after which a client gives up. */
  readonly timeoutMs: number
}

export interface Result {
  /** Answers with status 200 that arrived in the measured time, and those that say `busy`. */
  readonly good: number
  readonly busy: number
  /** Answers that say `busy` without Retry-After. */
  readonly silent: number
  /** Other answers, broken connections, requests whose client gave up. */
  readonly other: number
  readonly broken: number
  readonly gaveUp: number
  /** Requests for which there was no connection. */
  readonly unsent: number
  readonly connections: number
  /** Milliseconds from the planned time of a request to its good answer, and to the answer `busy`. */
  readonly p50: number
  readonly p99: number
  readonly busyP99: number
  readonly sample: string
}

const plan = JSON.parse(process.argv[2]!) as Plan
const requests = (JSON.parse(readFileSync(plan.requests, 'utf8')) as string[]).map((text) =>
  Buffer.from(text),
)
const counts = { good: 0, busy: 0, silent: 0, other: 0, broken: 0, gaveUp: 0, unsent: 0, connections: 0 }
const latencies: number[] = []
const refusals: number[] = []
let sample = ''
let sent = 0
let isMeasured = false

interface Client {
  readonly socket: Socket
  /** When its request was planned; undefined while it has none. */
  planned: number | undefined
  text: string
}

const idle: Client[] = []
const busy = new Set<Client>()
let open = 0

function send(client: Client, planned: number): void {
  client.planned = planned
  client.text = ''
  busy.add(client)
  client.socket.write(requests[sent++ % requests.length]!)
}

function openClient(planned: number): void {
  open++
  const socket = connect(plan.port, plan.host)
  socket.setNoDelay(true)
  const client: Client = { socket, planned: undefined, text: '' }
  socket.on('data', (chunk) => read(client, chunk))
  socket.on('error', () => undefined)
  socket.on('close', () => {
    open--
    if (client.planned !== undefined && isMeasured) counts.broken++
    client.planned = undefined
    busy.delete(client)
    const at = idle.indexOf(client)
    if (at >= 0) idle.splice(at, 1)
  })
  send(client, planned)
}

function read(client: Client, chunk: Buffer): void {
  client.text += chunk.toString('latin1')
  const head = client.text.indexOf('\r\n\r\n')
  if (head === -1) return
  const length = /\r\ncontent-length: *(\d+)/i.exec(client.text)
  if (length ? client.text.length < head + 4 + Number(length[1]) : !client.text.endsWith('0\r\n\r\n')) return
  if (client.planned !== undefined && isMeasured) count(client.text, performance.now() - client.planned)
  client.planned = undefined
  busy.delete(client)
  if (/\r\nconnection: close/i.test(client.text.slice(0, head))) {
    client.socket.destroy()
    return
  }
  if (plan.rate === 0) send(client, performance.now())
  else idle.push(client)
}

function count(text: string, latency: number): void {
  const isBusy = /^HTTP\/1\.1 (?:503|429) /.test(text) || text.includes('"reason":"busy"')
  if (isBusy) {
    counts.busy++
    refusals.push(latency)
    if (!/\r\nretry-after: \d/i.test(text)) counts.silent++
  } else if (text.startsWith('HTTP/1.1 200') && !text.includes('"error"')) {
    counts.good++
    latencies.push(latency)
  } else counts.other++
  if (sample === '' && (isBusy || !text.startsWith('HTTP/1.1 200'))) sample = text.slice(0, 600)
}

const start = performance.now()
if (plan.rate === 0) for (let opened = 0; opened < plan.connections; opened++) openClient(start)
const end = (plan.warmUpSeconds + plan.seconds) * 1000
let planned = 0
const timer = setInterval(() => {
  const now = performance.now()
  isMeasured = now - start >= plan.warmUpSeconds * 1000 && now - start < end
  const due = ((now - start) / 1000) * plan.rate
  for (; planned < due; planned++) {
    const at = start + (planned / plan.rate) * 1000
    const client = idle.pop()
    if (client) send(client, at)
    else if (open < plan.connections) openClient(at)
    else if (isMeasured) counts.unsent++
  }
  counts.connections = Math.max(counts.connections, open)
  if (now - start > end) {
    clearInterval(timer)
    finish()
  }
}, 1)
setInterval(() => {
  const limit = performance.now() - plan.timeoutMs
  for (const client of busy) {
    if (client.planned === undefined || client.planned > limit) continue
    if (isMeasured) counts.gaveUp++
    client.planned = undefined
    client.socket.destroy()
  }
}, 50)

function finish(): void {
  const at = (list: number[], part: number) => {
    list.sort((one, other) => one - other)
    return list[Math.min(list.length - 1, Math.floor(list.length * part))] ?? Number.NaN
  }
  const result: Result = {
    ...counts,
    p50: at(latencies, 0.5),
    p99: at(latencies, 0.99),
    busyP99: at(refusals, 0.99),
    sample,
  }
  process.stdout.write(JSON.stringify(result), () => process.exit(0))
}
