import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventsPath, streamLimits } from '@selvedge/protocol'
import { forge, readIssuerKeys } from '../../tests/attacks/forge.ts'
import { root } from '../../tests/harness/processes.ts'
import { startServices } from '../../tests/harness/services.ts'
import { cpuOf } from '../cpu.ts'
import { costRow, limitRow, type Row, rounds, startPeer } from '../measure.ts'

/** Events of one round. */
const eventsPerRound = 20
/** Milliseconds between two events: longer than the runtime collects changes. */
const pauseMs = 200

const collecting = {
  NODE_OPTIONS: `--expose-gc --require=${join(root, 'tests/system/soak/collect-garbage.cjs')}`,
}

/** Bytes that no file backs, without garbage. */
async function memoryOf(daemon: ChildProcess): Promise<number> {
  const collected = Promise.withResolvers<void>()
  const onMessage = (message: unknown) => {
    if (message === 'collected') collected.resolve()
  }
  daemon.on('message', onMessage).kill('SIGUSR2')
  await collected.promise
  daemon.off('message', onMessage)
  const text = readFileSync(`/proc/${daemon.pid}/smaps_rollup`, 'utf8')
  return Number(/^Anonymous:\s+(\d+)/m.exec(text)![1]) * 1024
}

interface Subject {
  readonly process: ChildProcess
  readonly port: number
  /** Path and headers of the stream of one reader. */
  readonly head: (reader: number) => string
  /** Causes an event that contains the text. */
  readonly send: (text: string) => Promise<unknown>
}

interface Reader {
  readonly socket: Socket
  /** The text that it waits for, and when it came. */
  wanted: string
  rest: string
  onFound: (at: number) => void
}

async function open({ port, head }: Subject, at: number): Promise<Reader> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${head(at)}\r\n\r\n`)
  await once(socket, 'data')
  const reader: Reader = { socket, wanted: '', rest: '', onFound: () => undefined }
  socket.on('data', (chunk) => {
    reader.rest = (reader.rest + chunk).slice(-2000)
    if (reader.wanted === '' || !reader.rest.includes(reader.wanted)) return
    reader.wanted = ''
    reader.onFound(performance.now())
  })
  return reader
}

/** Sends one event. @returns milliseconds until each reader had it */
async function measureOne(
  readers: readonly Reader[],
  send: Subject['send'],
  text: string,
): Promise<number[]> {
  const begin = performance.now()
  const arrivals = readers.map(
    (reader) =>
      new Promise<number>((resolve) => {
        reader.wanted = text
        reader.onFound = (at) => resolve(at - begin)
      }),
  )
  await send(text)
  return Promise.all(arrivals)
}

interface Measured {
  /** CPU milliseconds of one event, and the milliseconds until 99 % of the readers had it, round by round. */
  readonly cpuMs: number[]
  readonly p99Ms: number[]
}

const openAll = async (subject: Subject, count: number): Promise<Reader[]> => {
  const readers: Reader[] = []
  for (let at = 0; at < count; at++) readers.push(await open(subject, at))
  return readers
}

/** Bytes of one idle stream. What the first streams need once, such as compiled code, is not counted. */
async function measureIdle(subject: Subject): Promise<number> {
  for (const { socket } of await openAll(subject, streamLimits.ofCaller)) socket.destroy()
  await sleep(3000)
  const before = await memoryOf(subject.process)
  const readers = await openAll(subject, streamLimits.all)
  await sleep(3000)
  const bytes = ((await memoryOf(subject.process)) - before) / readers.length
  for (const { socket } of readers) socket.destroy()
  await sleep(1000)
  return bytes
}

async function measure(subject: Subject): Promise<Measured> {
  const pid = subject.process.pid!
  const readers = await openAll(subject, streamLimits.all)
  const cpuMs: number[] = []
  const p99Ms: number[] = []
  for (let round = 0; round < rounds; round++) {
    const delays: number[] = []
    const begin = cpuOf(pid).own
    for (let at = 0; at < eventsPerRound; at++) {
      delays.push(...(await measureOne(readers, subject.send, (10 + round + at / 100).toFixed(4))))
      await sleep(pauseMs)
    }
    cpuMs.push((cpuOf(pid).own - begin) / 1000 / eventsPerRound)
    delays.sort((one, other) => one - other)
    p99Ms.push(delays[Math.floor(delays.length * 0.99)]!)
  }
  for (const { socket } of readers) socket.destroy()
  return { cpuMs, p99Ms }
}

/** One event to 1,000 readers, against a server that checks nothing and writes one text to all of them. */
export async function eventRows(): Promise<Row[]> {
  const services = await startServices({ envOf: { runtime: collecting } })
  const bare = await startPeer('bare-events.ts')
  const keys = readIssuerKeys(services.stack.state)
  const callers = Array.from({ length: streamLimits.ofCaller }, () =>
    forge(services.token, { name: '', payload: { sub: randomUUID() }, expect: '' }, keys),
  )
  const { host, port } = new URL(services.url())
  const edgeAccessToken = services.token
  const runtime: Subject = {
    process: services.stack.runtime.process,
    port: Number(port),
    head: (at) =>
      `${eventsPath}?topics=fixes HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${callers[at % callers.length]}`,
    send: (latitude) =>
      services.runtime().updateGps({ edgeAccessToken, longitude: '1', latitude, speed: '0', bearing: '0' }),
  }
  const target = bare.target as { host: string; port: number }
  const peer: Subject = {
    process: bare.process,
    port: target.port,
    head: () => `/ HTTP/1.1\r\nHost: ${target.host}`,
    send: (latitude) =>
      fetch(`http://${target.host}:${target.port}/`, {
        method: 'POST',
        body: JSON.stringify({
          topic: 'fixes',
          data: { latitude, longitude: '1', speed: '0', bearing: '0' },
        }),
      }),
  }
  try {
    const bytes = await measureIdle(runtime)
    const ours = await measure(runtime)
    const theirs = await measure(peer)
    const against = 'node:http that writes one text to 1,000 open responses'
    const row = (name: string, unit: string, member: 'cpuMs' | 'p99Ms', atMost: number) =>
      costRow({ name, unit, against }, { ours: ours[member], peer: theirs[member] }, atMost)
    return [
      row('one fix to 1,000 readers', 'CPU ms, with the two events of updateGps', 'cpuMs', 4),
      row('one fix to 1,000 readers, p99', 'ms from the call', 'p99Ms', 4),
      limitRow({ name: 'an idle stream', unit: 'bytes', against: 'its limit' }, bytes, 30_000),
    ]
  } finally {
    await bare.stop()
    await services.stop()
  }
}
