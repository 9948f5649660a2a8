/**
 * The Docker Engine API (v1.41), as much of it as is needed, over the engine's Unix socket. Docker, Podman and balenaEngine speak
 * it. Our own caller, since the well-known library for it brings packages with install scripts, which this project allows none of.
 */

import { existsSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { type Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { RpcError } from '@selvedge/protocol'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import type * as z from 'zod'
import { missingHint, unansweredHint } from './engine-hints.ts'
import { hasRaced, type Shortage, shortageIn } from './engine-shortage.ts'
import { type EngineSockets, findEngineSocket } from './engine-sockets.ts'

const version = '/v1.41'
/** Of paths that begin with `/libpod`, which Podman alone has. */
const podmanVersion = '/v4.0.0'
/** Milliseconds without a byte after which a call counts as lost. */
const idleMs = 30_000
/** Limit in bytes of an answer that is read whole. */
const maxAnswer = 8 * 1024 * 1024

export interface EngineApi {
  readonly socketPath: string
  /**
   * Reads something of the engine.
   *
   * @throws EngineError when the engine refuses; RpcError `engine_unavailable` when it does not answer, or not as expected
   */
  read<T>(path: string, schema: z.ZodType<T>): Promise<T>
  /** Does nothing. @throws as `read` where the engine does not answer */
  ping(): Promise<void>
  /** Makes something, and reads the answer of the engine. @throws as `read` */
  ask<T>(path: string, body: object, schema: z.ZodType<T>): Promise<T>
  /** Changes something; the answer's body is not looked at. @param maxIdleMs for calls that take their time. @throws as `read` */
  send(method: 'POST' | 'DELETE', path: string, body?: object, maxIdleMs?: number): Promise<void>
  /**
   * Sends content and gives the answer as text. The content is closed whatever happens.
   *
   * @throws as `read`
   */
  upload(path: string, content: AsyncIterable<Uint8Array>, maxIdleMs: number): Promise<string>
  /** Opens a stream that lasts until the engine or the caller closes it. @throws as `read` */
  follow(path: string): Promise<IncomingMessage>
}

/** The engine's own refusal. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly status: number
  /** What the engine or the device lacks; undefined: the request or the container is at fault. */
  readonly shortage: Shortage | undefined
  /** Whether the same request may succeed at once: something that the engine read was removed meanwhile. */
  readonly hasRaced: boolean
  /** @param text of the refusal; the message is its beginning */
  constructor(status: number, text: string) {
    super(text.slice(0, 500))
    this.status = status
    this.shortage = shortageIn(status, text)
    this.hasRaced = hasRaced(status, text)
  }
}

export function ignoreMissing(cause: unknown): undefined {
  if (cause instanceof EngineError && cause.status === 404) return undefined
  throw cause
}

/** @param configured socket of the engine; empty: the first that is found. @throws RpcError `engine_unavailable` */
export function findEngine(configured: string): EngineApi {
  const { path, searched } = configured === '' ? findEngineSocket() : inConfiguration(configured)
  if (path === undefined) {
    throw new RpcError('engine_unavailable', `there is no container engine at ${searched.join(', ')}`, {
      hint: missingHint(searched, process.platform),
    })
  }
  return createEngineApi(path)
}

/** The socket of a configuration is not checked: the user who configures the runtime has decided. */
const inConfiguration = (configured: string): EngineSockets => ({
  path: existsSync(configured) ? configured : undefined,
  searched: [configured],
})

interface Call {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string | number>
  /** 0: no timeout. */
  readonly maxIdleMs: number
  /** Sends the body and ends the request. */
  readonly send: (asked: ClientRequest) => void
}

function createEngineApi(socketPath: string): EngineApi {
  const away = (cause: unknown) =>
    new RpcError(
      'engine_unavailable',
      `the container engine at ${socketPath} does not answer: ${(cause as Error).message}`,
      { cause, hint: unansweredHint(socketPath, cause) },
    )

  function open({ method, path, headers, maxIdleMs, send }: Call): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const asked = request({
        socketPath,
        method,
        path: (path.startsWith('/libpod/') ? podmanVersion : version) + path,
        headers: { Host: 'localhost', ...headers },
        agent: false,
        timeout: maxIdleMs,
      })
      asked.on('timeout', () => asked.destroy(new Error(`no answer for ${maxIdleMs / 1000} s`)))
      asked.on(
        'error',
        safely('oci.error', (cause: Error) => reject(away(cause))),
      )
      // Without a listener, an answer that changes the protocol (101) would be neither a response nor an error.
      asked.on(
        'upgrade',
        safely('oci.upgrade', (_: IncomingMessage, socket: Duplex) => {
          socket.destroy()
          reject(away(new Error('it answers by changing the protocol')))
        }),
      )
      asked.on(
        'response',
        safely('oci.response', (response: IncomingMessage) => {
          // The reader of the body gets the error, too.
          response.on('error', () => undefined)
          if ((response.statusCode ?? 500) < 300 || response.statusCode === 304) resolve(response)
          else refusal(response).then(reject, reject)
        }),
      )
      send(asked)
    })
  }

  const textOf = async (call: Call): Promise<string> => {
    const response = await open(call)
    return readAll(response).catch((cause) => {
      throw cause instanceof EngineError ? cause : away(cause)
    })
  }

  const post = (method: 'POST' | 'DELETE', path: string, body?: object, maxIdleMs = idleMs) => {
    const text = body === undefined ? '' : JSON.stringify(body)
    const headers = {
      'Content-Length': Buffer.byteLength(text),
      ...(body && { 'Content-Type': 'application/json' }),
    }
    return textOf({ method, path, headers, maxIdleMs, send: end(text) })
  }

  function parse<T>(call: string, text: string, schema: z.ZodType<T>): T {
    try {
      return schema.parse(JSON.parse(text))
    } catch (cause) {
      throw new RpcError(
        'engine_unavailable',
        `the container engine at ${socketPath} answers ${call.split('?')[0]} in a way that is not understood`,
        { cause },
      )
    }
  }

  return {
    socketPath,
    async read(path, schema) {
      const text = await textOf({ method: 'GET', path, headers: {}, maxIdleMs: idleMs, send: end() })
      return parse(`GET ${path}`, text, schema)
    },
    async ping() {
      await textOf({ method: 'GET', path: '/_ping', headers: {}, maxIdleMs: idleMs, send: end() })
    },
    async ask(path, body, schema) {
      return parse(`POST ${path}`, await post('POST', path, body), schema)
    },
    async send(method, path, body, maxIdleMs = idleMs) {
      await post(method, path, body, maxIdleMs)
    },
    upload: (path, content, maxIdleMs) => {
      // The answer of a broken upload contains the reason; the broken pipe itself does not.
      const send = (asked: ClientRequest) =>
        inBackground(
          'oci.upload',
          pipeline(Readable.from(content), asked).catch((cause) => void asked.destroy(cause)),
        )
      const headers = { 'Content-Type': 'application/x-tar' }
      return textOf({ method: 'POST', path, headers, maxIdleMs, send })
    },
    follow: (path) => open({ method: 'GET', path, headers: {}, maxIdleMs: 0, send: end() }),
  }
}

const end =
  (text = '') =>
  (asked: ClientRequest) =>
    void asked.end(text)

/** The refusal as an error. Not every engine answers with JSON. */
async function refusal(response: IncomingMessage): Promise<EngineError> {
  const text = await readAll(response)
  let message: unknown
  try {
    ;({ message } = JSON.parse(text) as { message?: unknown })
  } catch {
    message = text
  }
  return new EngineError(response.statusCode ?? 0, typeof message === 'string' ? message : text)
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    size += (chunk as Buffer).length
    if (size > maxAnswer) throw new EngineError(502, `the engine sent more than ${maxAnswer} bytes`)
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString()
}
