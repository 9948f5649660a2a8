/** Devices report in turn at a steady rate, however long the answers take: a time counts from when its report was due. */
import type { AuthorizeRequest } from '@selvedge/client'
import { discoveryPaths, type SimulationFigures as Figures } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import type { Fleet } from './fleet.ts'
import { Histogram } from './histogram.ts'
import type { Random } from './random.ts'
import type { Wire } from './wire.ts'

export interface DriveParts {
  readonly fleet: Fleet
  readonly sessions: readonly AuthorizeRequest[]
  readonly wire: Wire
  readonly clock: Clock
  readonly random: Random
  /** Reports and questions a second. */
  readonly rate: number
  readonly queries: number
  readonly seconds: number
  /** Called twice a second with what the last half second was like. */
  readonly onTick: (recent: Figures, totals: { updates: Figures; queries: Figures }, elapsed: number) => void
  readonly signal: AbortSignal
}

/** Milliseconds between two checks for due reports. */
const checkIntervalMs = 2
const tick = 500

class Counter {
  sent = 0
  ok = 0
  errors = 0
  readonly reasons: Record<string, number> = {}
  readonly times = new Histogram()
  figures(seconds: number): Figures {
    const { sent, ok, errors, reasons, times } = this
    const round = (value: number) => Math.round(value * 100) / 100
    return {
      sent,
      ok,
      errors,
      reasons: { ...reasons },
      perSecond: Math.round(ok / Math.max(seconds, 0.001)),
      p50: round(times.percentile(0.5)),
      p99: round(times.percentile(0.99)),
      max: round(times.max),
    }
  }
}

export async function drive(parts: DriveParts): Promise<{ updates: Figures; queries: Figures }> {
  const { fleet, sessions, wire, clock, rate, queries, seconds, signal } = parts
  const updates = new Counter()
  const asks = new Counter()
  let recent = new Counter()
  /** Seconds of a device's life between two of its reports. */
  const interval = fleet.size / rate
  const begunAt = performance.now()
  let due = 0
  let dueQueries = 0
  let under = 0
  /** Devices with a stored location. Only these can ask what is near them. */
  const located: number[] = []

  function done(counters: readonly Counter[], since: number, problem: string | undefined): void {
    under--
    for (const counter of counters) {
      counter.times.add(performance.now() - since)
      if (problem === undefined) counter.ok++
      else {
        counter.errors++
        counter.reasons[problem] = (counter.reasons[problem] ?? 0) + 1
      }
    }
  }
  const problemOf = ({ status, body }: { status: number; body: string }) =>
    status === 200 ? undefined : `HTTP ${status} ${body.slice(0, 80)}`

  async function request(
    method: string,
    path: string,
    device: number,
    body: string,
    since: number,
    counters: readonly Counter[],
  ): Promise<boolean> {
    for (const counter of counters) counter.sent++
    under++
    const head = `${method} ${path} HTTP/1.1\r\nAuthorization: ${sessions[device]!(method, path, body)}\r\n`
    const problem = await wire.send(head, body).then(problemOf, (cause: Error) => cause.message)
    done(counters, since, problem)
    return problem === undefined
  }

  async function report(number: number, since: number): Promise<void> {
    const device = number % fleet.size
    const isFirst = number < fleet.size
    const fix = { ...fleet.move(device, isFirst ? 0 : interval), fixedAt: clock.now() }
    const body = JSON.stringify([fix])
    const isStored = await request('POST', discoveryPaths.fixes, device, body, since, [updates, recent])
    if (isFirst && isStored) located.push(device)
  }
  function ask(since: number): void {
    const device = located[Math.floor(parts.random.next() * located.length)]!
    void request('GET', `${discoveryPaths.nodes}?cluster=proximity&limit=20`, device, '', since, [asks])
  }

  await new Promise<void>((resolve) => {
    let tickedAt = begunAt
    const timer = setInterval(() => {
      const now = performance.now()
      const elapsed = (now - begunAt) / 1000
      const until = Math.min(elapsed, seconds)
      for (; due < until * rate; due++) void report(due, begunAt + (due / rate) * 1000)
      for (; dueQueries < until * queries && located.length > 0; dueQueries++)
        ask(begunAt + (dueQueries / queries) * 1000)
      if (now - tickedAt >= tick) {
        const totals = { updates: updates.figures(until), queries: asks.figures(until) }
        parts.onTick(recent.figures((now - tickedAt) / 1000), totals, until)
        tickedAt = now
        recent = new Counter()
      }
      if (elapsed < seconds && !signal.aborted) return
      clearInterval(timer)
      resolve()
    }, checkIntervalMs)
  })
  const over = Math.min(seconds, (performance.now() - begunAt) / 1000)
  for (let looks = 0; under > 0 && looks < 1000; looks++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  return { updates: updates.figures(over), queries: asks.figures(over) }
}
