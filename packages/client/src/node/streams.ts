/** Streams that JSON-RPC cannot carry: logs as they are written, and the requests of all of them. */
import type { IncomingMessage } from 'node:http'
import { catalogue, type LogLine, mcmPaths, type Reason } from '@selvedge/protocol'
import { LineTooLong, linesOf } from '@selvedge/protocol/lines'
import { ConnectionFailure, RpcFailure } from '../errors.ts'
import type { Network } from './network/index.ts'
import { sendFile } from './send-file.ts'
import { startRequest, wayTo } from './start-request.ts'

/** Characters of an answer, and of a line of a log: the runtime cuts lines to 8,192. */
const maxAnswer = 1024 * 1024
const maxLogLine = 128 * 1024
/** Milliseconds without a byte before a connection is probed. */
const keepAliveMs = 30_000

export interface StreamConnection {
  /** URL of the runtime, without a path. */
  readonly url: string
  /** Unix socket to use instead of the host and port of the URL. */
  readonly socketPath?: string
  /** Edge access token with the scope `edge:mcm`. */
  readonly edgeAccessToken: string
  /** Gets another token when this one is refused: `edgeAccessToken` and `prove` are those of the new one then. It may fail. */
  readonly renew?: () => Promise<unknown>
  /** Proxy and authorities; absent: neither a proxy nor other authorities than those of Node. */
  readonly network?: Pick<Network, 'agentFor'>
  /** Signs a proof for one request, if the token is bound to a key: `EdgeAccess.headers` has it. @param url whole URL */
  readonly prove?: (method: string, url: string) => Promise<string>
}

/** The headers with the token of a connection. */
export async function authorizationOf(
  { edgeAccessToken, prove }: StreamConnection,
  method: string,
  url: string,
): Promise<Record<string, string>> {
  if (!prove) return { Authorization: `Bearer ${edgeAccessToken}` }
  return { Authorization: `DPoP ${edgeAccessToken}`, DPoP: await prove(method, url) }
}

/**
 * Follows the log of a container until the signal is aborted, or the runtime ends.
 *
 * @param options.since only lines from this ISO 8601 time on
 * @param options.tail maximum number of earlier lines; default 100
 * @throws RpcFailure | ConnectionFailure
 *
 * @example
 * ```ts
 * import { followLogs } from '@selvedge/client/node'
 *
 * const connection = { url: 'http://127.0.0.1:8083', edgeAccessToken: process.env.ACCESS_TOKEN! }
 * await followLogs(connection, 'hello', { tail: 10 }, ({ text }) => console.log(text))
 * ```
 */
export async function followLogs(
  connection: StreamConnection,
  id: string,
  options: { since?: string; tail?: number; signal?: AbortSignal },
  onLine: (line: LogLine) => void,
): Promise<void> {
  const query = new URLSearchParams({ follow: 'true' })
  if (options.since !== undefined) query.set('since', options.since)
  if (options.tail !== undefined) query.set('tail', String(options.tail))
  const path = `${mcmPaths.containers}/${encodeURIComponent(id)}/logs?${query}`
  const response = await send(connection, 'GET', path, {}, { signal: options.signal })
  if (response.statusCode !== 200) await readJson(response)
  response.on('error', () => undefined)
  for await (const line of answerLines(response, maxLogLine)) onLine(parse(line, 'a log line') as LogLine)
}

/** @throws ConnectionFailure if a line is too long */
export async function* answerLines(response: IncomingMessage, maxLine: number): AsyncGenerator<string> {
  try {
    yield* linesOf(response, { maxLine, longer: 'refuse', ends: 'lf' })
  } catch (cause) {
    if (!(cause instanceof LineTooLong)) throw cause
    throw new ConnectionFailure('bad_answer', `the runtime sent ${cause.message}`, { cause })
  }
}

/** @throws ConnectionFailure if it is no JSON */
export function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ConnectionFailure('bad_answer', `the runtime sent ${what} that is not JSON`, { cause })
  }
}

/** A file, to be sent as the body of a request. */
export interface SentFile {
  readonly path: string
  /** Bytes of the whole file. */
  readonly size: number
  /** Position of the first byte that is sent; default 0. */
  readonly from?: number
  /** Called with the bytes sent so far, those before `from` included, and the size. */
  readonly onProgress: (sent: number, total: number) => void
}

interface Sent {
  readonly file?: SentFile
  readonly body?: string
  readonly signal?: AbortSignal | undefined
  /** Milliseconds without a byte before the answer begins. */
  readonly timeoutMs?: number
}

/** Sends a request; once more if the token was refused and there is another one. @throws ConnectionFailure */
export async function send(
  connection: StreamConnection,
  method: string,
  path: string,
  headers: Record<string, string>,
  sent: Sent,
): Promise<IncomingMessage> {
  const { edgeAccessToken } = connection
  const answer = await sendOnce(connection, method, path, headers, sent)
  if (answer.statusCode !== 401 || !connection.renew) return answer
  const isRenewed = await connection.renew().then(
    () => connection.edgeAccessToken !== edgeAccessToken,
    () => false,
  )
  if (!isRenewed) return answer
  answer.on('error', () => undefined).destroy()
  return sendOnce(connection, method, path, headers, sent)
}

async function sendOnce(
  connection: StreamConnection,
  method: string,
  path: string,
  headers: Record<string, string>,
  { file, body, signal, timeoutMs }: Sent,
): Promise<IncomingMessage> {
  const { url, socketPath } = connection
  const authorization = await authorizationOf(connection, method, url + path)
  return new Promise((resolve, reject) => {
    const asked = startRequest(
      url + path,
      {
        method,
        headers: { ...headers, ...authorization },
        ...wayTo(connection, url),
        ...(signal && { signal }),
      },
      resolve,
    )
    // Otherwise a half-open connection stays while an answer is awaited.
    asked.once('socket', (socket) => socket.setKeepAlive(true, keepAliveMs))
    if (timeoutMs !== undefined)
      asked.setTimeout(timeoutMs, () => {
        reject(new ConnectionFailure('timeout', `${socketPath ?? url} did not answer within ${timeoutMs} ms`))
        asked.destroy()
      })
    let sent = file?.from ?? 0
    const refuse = (cause: NodeJS.ErrnoException) => {
      const isClosed = file && (cause.code === 'EPIPE' || cause.code === 'ECONNRESET')
      const message = isClosed
        ? `the runtime closed the connection without an answer, after ${sent} of ${file.size} bytes`
        : `nothing answers at ${socketPath ?? url}: ${cause.message}`
      reject(new ConnectionFailure(isClosed ? 'bad_answer' : 'not_running', message, { cause }))
    }
    asked.on('error', refuse)
    // Without a listener, an answer that changes the protocol (101) would be neither a response nor an error.
    asked.on('upgrade', (_, socket) => {
      socket.destroy()
      refuse(new Error('it answers by changing the protocol'))
    })
    if (!file) return void asked.end(body)
    const onSent = (bytes: number) => file.onProgress((sent += bytes), file.size)
    sendFile(asked, file, onSent, (cause) => {
      reject(new ConnectionFailure('aborted', `can't read ${file.path}: ${cause.message}`, { cause }))
      asked.destroy()
    })
  })
}

/** @throws ConnectionFailure if it is too long, or incomplete */
async function readText(response: IncomingMessage): Promise<string> {
  let text = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk
      if (text.length > maxAnswer) break
    }
  } catch (cause) {
    throw new ConnectionFailure('bad_answer', 'the runtime closed the connection within its answer', {
      cause,
    })
  }
  if (text.length <= maxAnswer) return text
  throw new ConnectionFailure(
    'bad_answer',
    `the runtime answered ${response.statusCode} with more than ${maxAnswer} characters`,
  )
}

export async function readJson(response: IncomingMessage): Promise<unknown> {
  const text = await readText(response)
  const json = parse(text, `an answer of HTTP ${response.statusCode}`)
  if (response.statusCode === 200) return json
  const { reason, message, hint } = refusalIn(json)
  if (!Object.hasOwn(catalogue, reason))
    throw new ConnectionFailure(
      'refused',
      `the runtime answered HTTP ${response.statusCode} (${reason}): ${message}`,
    )
  const { code, retryable, hint: usual } = catalogue[reason as Reason]
  throw new RpcFailure({
    code,
    message,
    data: { reason: reason as Reason, detail: message, hint: hint || usual, retryable },
  })
}

/** The members of a refusal; "" for those that are missing or are no text. */
function refusalIn(json: unknown): {
  readonly reason: string
  readonly message: string
  readonly hint: string
} {
  const { error } = (json ?? {}) as { readonly error?: Readonly<Record<string, unknown>> | null }
  const text = (name: string) => {
    const value = error?.[name]
    return typeof value === 'string' ? value : ''
  }
  return { reason: text('reason'), message: text('message'), hint: text('hint') }
}
