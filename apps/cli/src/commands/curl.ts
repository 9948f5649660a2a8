import { ConnectionFailure } from '@selvedge/client'
import { onOneLine } from '@selvedge/protocol/redaction'
import { command, type Input } from '../command.ts'
import { accessTokenOf, accessTokenOptions } from '../context/access-token.ts'
import { findContainer } from '../context/find-service.ts'
import { readInputFile } from '../context/input-file.ts'
import { readServicePath, requestService, type ServiceAnswer } from '../context/service-request.ts'
import { UsageError } from '../failure.ts'
import { writeWhole } from '../output/write-whole.ts'

/** Bytes of a body from a file, and of an answer that is printed. */
const maxBodyBytes = 16 * 1024 * 1024

interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Text of the answer; null if it was written to a file. */
  readonly body: string | null
  readonly file?: string
}

export const curl = command({
  path: ['curl'],
  summary:
    'Send an HTTP request to a service of the device, with your token. The token is sent to that device only; redirects are not followed.',
  args: [
    { name: '<service>', description: 'id or name of the container' },
    { name: '[path]', description: 'path and query below that of the service, such as /items?limit=10' },
  ],
  options: [
    { flags: '-X, --request <method>', description: 'HTTP method; default GET, or POST with --data' },
    { flags: '-d, --data <text>', description: 'body; @file for that of a file, @- for standard input' },
    { flags: '-H, --header <line...>', description: 'header, such as "Content-Type: application/json"' },
    { flags: '-i, --include', description: 'print status and headers before the body' },
    { flags: '-o, --output <file>', description: 'write the body to a file as it is, of any size' },
    ...accessTokenOptions,
  ],
  examples: ['selvedge curl hello', "selvedge curl hello /items/7 -X PUT -d '{}'"],
  run: async (
    context,
    { args: [service = '', path = ''], options },
  ): Promise<Answered & { include: boolean }> => {
    const body = readBody(options.data)
    const method = readMethod(options.request, body)
    const headers = readHeaders(options.header)
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    const { basePath } = await findContainer(context, edgeAccessToken, service)
    const request = {
      method,
      path: readServicePath(basePath, path),
      headers,
      ...(body !== undefined && { body }),
    }
    const streams = await context.streams(edgeAccessToken)
    if (options.verbose) context.terminal.note(onOneLine(`${method} ${streams.url}${request.path}`))
    const answer = await requestService(streams, request)
    if (answer.headers.location !== undefined)
      context.terminal.note(
        onOneLine(
          `it redirects to ${answer.headers.location.slice(0, 500)}, which is not followed: the token stays here`,
        ),
      )
    return { ...(await readAnswer(answer, options.output)), include: options.include === true }
  },
  isFailure: ({ status }) => status >= 400,
  human: ({ status, headers, body, file, include }) => {
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    if (include) return [`HTTP ${status}`, ...head, '', body ?? `written to ${file}`].join('\n')
    return body === '' ? `HTTP ${status}, without a body` : (body ?? `HTTP ${status}, written to ${file}`)
  },
  prints: 'text',
})

function readBody(data: Input['options'][string]): string | undefined {
  if (typeof data !== 'string') return undefined
  if (!data.startsWith('@')) return data
  return readInputFile(data.slice(1), maxBodyBytes, 'Give a file with at most 16 MiB of text.')
}

function readMethod(given: Input['options'][string], body: string | undefined): string {
  if (typeof given !== 'string') return body === undefined ? 'GET' : 'POST'
  if (/^[A-Z]{1,20}$/i.test(given)) return given.toUpperCase()
  throw new UsageError(
    `--request is ${JSON.stringify(given.slice(0, 80))}, which is no HTTP method`,
    'For example --request PUT. The path is an argument of its own: selvedge curl <service> /items',
  )
}

function readHeaders(lines: Input['options'][string]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const line of Array.isArray(lines) ? lines : []) {
    const at = line.indexOf(':')
    const [name, value] = [line.slice(0, at), line.slice(at + 1).trim()]
    if (at < 1 || !/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new UsageError(
        `--header is ${JSON.stringify(line.slice(0, 80))}`,
        'Give name and value, such as --header "Content-Type: application/json"',
      )
    if (/^(?:authorization|host|content-length|transfer-encoding|connection)$/i.test(name))
      throw new UsageError(`the header ${name} is set by this command`, 'Another token: --token-file <file>')
    headers[name] = value
  }
  return headers
}

async function readAnswer(
  { status, headers, body }: ServiceAnswer,
  output: Input['options'][string],
): Promise<Answered> {
  if (typeof output === 'string') {
    await writeWhole(output, withReason(body))
    return { status, headers, body: null, file: output }
  }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of withReason(body)) {
    size += (chunk as Buffer).length
    if (size > maxBodyBytes)
      throw new ConnectionFailure(
        'bad_answer',
        `the answer has more than ${maxBodyBytes} bytes: write it with --output <file>`,
      )
    chunks.push(chunk as Buffer)
  }
  return { status, headers, body: Buffer.concat(chunks).toString() }
}

async function* withReason(body: ServiceAnswer['body']): AsyncGenerator<Buffer> {
  try {
    yield* body
  } catch (cause) {
    if (cause instanceof ConnectionFailure) throw cause
    throw new ConnectionFailure('bad_answer', 'the connection was closed within the answer', { cause })
  }
}
