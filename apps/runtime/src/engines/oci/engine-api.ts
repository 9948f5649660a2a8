/**
 * The Docker Engine API (v1.41), as much of it as is needed, over the engine's Unix socket. Docker, Podman and balenaEngine speak
 * it. Our own caller, since the well-known library for it brings packages with install scripts, which this project allows none of.
 */

import { existsSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { RpcError } from '@selvedge/protocol'

const version = '/v1.41'
/** Milliseconds for a call that is answered at once. */
const patience = 30_000
const maxAnswer = 8 * 1024 * 1024

export interface EngineApi {
  readonly socketPath: string
  /** @throws EngineError where the engine refuses; RpcError `engine_unavailable` where it does not answer */
  call<T>(method: string, path: string, body?: unknown): Promise<T>
  /** A call whose answer is a stream; it lasts as long as it lasts. */
  stream(method: string, path: string, body?: AsyncIterable<Uint8Array>): Promise<IncomingMessage>
}

/** The engine's own refusal. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Sockets of the engines that are looked for, in this order. */
function engineSockets(configured: string): string[] {
  if (configured !== '') return [configured]
  const { XDG_RUNTIME_DIR: runtimeFolder } = process.env
  return [
    ...(runtimeFolder ? [`${runtimeFolder}/podman/podman.sock`, `${runtimeFolder}/docker.sock`] : []),
    '/run/podman/podman.sock',
    '/run/docker.sock',
    '/var/run/docker.sock',
    '/run/balena-engine.sock',
    '/var/run/balena-engine.sock',
  ]
}

/** @throws RpcError `engine_unavailable` */
export function findEngine(configured: string): EngineApi {
  const sockets = engineSockets(configured)
  const found = sockets.find(existsSync)
  if (found === undefined) {
    throw new RpcError('engine_unavailable', `there is no container engine at ${sockets.join(', ')}`, {
      hint: 'Install Podman and start its socket (systemctl enable --now podman.socket), or Docker, or name a socket in oci.socket.',
    })
  }
  return createEngineApi(found)
}

function createEngineApi(socketPath: string): EngineApi {
  function send(method: string, path: string, body: unknown, limited: boolean): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const isStream = typeof body === 'object' && body !== null && Symbol.asyncIterator in body
      const text = body === undefined || isStream ? undefined : JSON.stringify(body)
      const headers =
        text !== undefined
          ? { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
          : isStream
            ? { 'Content-Type': 'application/x-tar' }
            : { 'Content-Length': 0 }
      const asked = request(
        {
          socketPath,
          method,
          path: version + path,
          headers: { Host: 'localhost', ...headers },
          agent: false,
          ...(limited && { timeout: patience }),
        },
        resolve,
      )
      asked.on('timeout', () => asked.destroy(new Error(`no answer for ${patience / 1000} s`)))
      asked.on('error', (cause) =>
        reject(
          new RpcError(
            'engine_unavailable',
            `the container engine at ${socketPath} does not answer: ${cause.message}`,
            {
              cause,
            },
          ),
        ),
      )
      if (isStream)
        Readable.from(body as AsyncIterable<Uint8Array>)
          .on('error', (cause) => asked.destroy(cause))
          .pipe(asked)
      else asked.end(text)
    })
  }

  async function refuse(response: IncomingMessage): Promise<never> {
    const text = await readAll(response)
    let message = text
    try {
      message = (JSON.parse(text) as { message?: string }).message ?? text
    } catch {
      // Not every engine answers with JSON.
    }
    throw new EngineError(response.statusCode ?? 0, message.slice(0, 500))
  }

  return {
    socketPath,
    async call(method, path, body) {
      const response = await send(method, path, body, true)
      if ((response.statusCode ?? 500) >= 300 && response.statusCode !== 304) return refuse(response)
      const text = await readAll(response)
      return (/^[[{]/.test(text) ? JSON.parse(text) : undefined) as never
    },
    async stream(method, path, body) {
      const response = await send(method, path, body, false)
      return (response.statusCode ?? 500) >= 300 ? refuse(response) : response
    },
  }
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
