/** Uploads that continue after a cut: tus 1.0.0 (https://tus.io/protocols/resumable-upload), as the runtime serves it. */
import type { IncomingMessage } from 'node:http'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ImageRecord, mcmPaths } from '@selvedge/protocol'
import { ConnectionFailure, RpcFailure } from '../errors.ts'
import { readJson, type SentFile, type StreamConnection, send } from './streams.ts'

/** How long to try. */
export interface Patience {
  /** Waits before the next request. */
  readonly wait: (ms: number) => Promise<unknown>
  /** From 0 to 1. */
  readonly random: () => number
  readonly onWait: (cause: Error, seconds: number) => void
}

export const patience: Omit<Patience, 'onWait'> = { wait: sleep, random: Math.random }

/** Failures in a row without a byte that arrived: about five minutes with their back-off. */
const maxFailures = 12
const [firstDelayMs, maxDelayMs] = [500, 60_000]
/** Times that a runtime may lose bytes that had arrived: one that exits at the same byte each time does so without end. */
const maxLosses = 5
/** Milliseconds without a byte on a connection after which another one is tried. */
const idleMs = 30_000

const version = { 'Tus-Resumable': '1.0.0' }

/**
 * Sends a file.
 *
 * @returns the handle to deploy; undefined if the runtime does not accept parts, or not this file: one request may tell why
 * @throws RpcFailure | ConnectionFailure when no byte arrives any longer
 */
export async function sendInParts(
  connection: StreamConnection,
  file: SentFile,
  patient: Patience,
): Promise<string | undefined> {
  let path = await begin(connection, file)
  if (path === undefined) return undefined
  const attempts = createAttempts(patient)
  let offset = 0
  let losses = 0
  while (offset < file.size) {
    const before = offset
    try {
      offset = await append(connection, path, { ...file, from: offset })
    } catch (cause) {
      await attempts.failed(cause)
      const found = await offsetOf(connection, path, attempts)
      if ((found ?? 0) < before && ++losses > maxLosses) throw cause
      // It was removed, is too old, or was damaged on the disk of the device.
      if (found === undefined) path = await beginAgain(connection, file, attempts)
      offset = found ?? 0
    }
    if (offset > before) attempts.succeeded()
  }
  return `upload:${path.slice(path.lastIndexOf('/') + 1)}`
}

/** Deploys what was sent. If the answer is lost, it is requested again. @throws RpcFailure | ConnectionFailure */
export async function deployUpload(
  connection: StreamConnection,
  source: string,
  name: string | undefined,
  patient: Patience,
): Promise<ImageRecord> {
  const attempts = createAttempts(patient)
  const body = JSON.stringify({ source, ...(name !== undefined && { name }) })
  const headers = { 'Content-Type': 'application/json' }
  for (;;) {
    try {
      return (await readJson(
        await send(connection, 'POST', mcmPaths.images, headers, { body }),
      )) as ImageRecord
    } catch (cause) {
      await attempts.failed(cause)
    }
  }
}

/** @returns the path of a new upload @throws RpcFailure | ConnectionFailure if it is refused */
async function beginAgain(connection: StreamConnection, file: SentFile, attempts: Attempts): Promise<string> {
  for (;;) {
    try {
      const path = await begin(connection, file)
      if (path !== undefined) return path
      throw new ConnectionFailure('refused', 'the runtime has no upload any more, and begins no other one')
    } catch (cause) {
      await attempts.failed(cause)
    }
  }
}

/** @returns the path of a new upload; undefined if it was refused */
async function begin(connection: StreamConnection, { path, size }: SentFile): Promise<string | undefined> {
  const name = Buffer.from(basename(path)).toString('base64')
  const headers = { ...version, 'Upload-Length': String(size), 'Upload-Metadata': `filename ${name}` }
  const answer = await send(connection, 'POST', mcmPaths.uploads, headers, { timeoutMs: idleMs })
  answer.on('error', () => undefined).destroy()
  const { location = '' } = answer.headers
  // Its own paths only: the token is sent there.
  const isOwn = location.startsWith(`${mcmPaths.uploads}/`) && /^[\w/-]{1,200}$/.test(location)
  return answer.statusCode === 201 && isOwn ? location : undefined
}

async function append(connection: StreamConnection, path: string, file: SentFile): Promise<number> {
  const from = file.from ?? 0
  const headers = {
    ...version,
    'Content-Type': 'application/offset+octet-stream',
    'Content-Length': String(file.size - from),
    'Upload-Offset': String(from),
    Expect: '100-continue',
  }
  const answer = await send(connection, 'PATCH', path, headers, { file, timeoutMs: idleMs })
  try {
    if (answer.statusCode !== 204) await readJson(answer)
    return offsetIn(answer, file.size)
  } finally {
    answer.on('error', () => undefined).destroy()
  }
}

/** How much arrived; undefined if there is no such upload. */
async function offsetOf(
  connection: StreamConnection,
  path: string,
  attempts: Attempts,
): Promise<number | undefined> {
  for (;;) {
    try {
      const answer = await send(connection, 'HEAD', path, version, { timeoutMs: idleMs })
      answer.on('error', () => undefined).destroy()
      if (answer.statusCode === 404) return undefined
      if (answer.statusCode === 200) return offsetIn(answer, Number.MAX_SAFE_INTEGER)
      const reason = passingStatuses.has(answer.statusCode ?? 0) ? 'bad_answer' : 'refused'
      throw new ConnectionFailure(reason, `the runtime answered HTTP ${answer.statusCode}`)
    } catch (cause) {
      await attempts.failed(cause)
    }
  }
}

function offsetIn({ headers, statusCode }: IncomingMessage, max: number): number {
  const text = String(headers['upload-offset'])
  if (/^\d{1,15}$/.test(text) && Number(text) <= max) return Number(text)
  throw new ConnectionFailure('bad_answer', `the runtime answered HTTP ${statusCode} with no Upload-Offset`)
}

interface Attempts {
  /** Waits before the next attempt. @throws the cause if it does not pass, or has lasted too long */
  failed(cause: unknown): Promise<void>
  succeeded(): void
}

function createAttempts({ wait, random, onWait }: Patience): Attempts {
  let failures = 0
  return {
    async failed(cause) {
      if (!isPassing(cause) || ++failures > maxFailures) throw cause
      const ms = Math.min(firstDelayMs * 2 ** (failures - 1), maxDelayMs) * (0.5 + random() / 2)
      onWait(cause, Math.ceil(ms / 1000))
      await wait(ms)
    },
    succeeded() {
      failures = 0
    },
  }
}

const passing: ReadonlySet<string> = new Set(['not_running', 'timeout', 'bad_answer'])
/** Of a runtime that is busy or stops, and of a proxy before one that starts. */
const passingStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])
const passingRefusals: ReadonlySet<string> = new Set(['busy', 'conflict'])

/** A connection that broke, a runtime that is busy, and bytes that another request had already brought. */
function isPassing(cause: unknown): cause is Error {
  if (cause instanceof ConnectionFailure) return passing.has(cause.reason)
  return cause instanceof RpcFailure && passingRefusals.has(cause.reason)
}
