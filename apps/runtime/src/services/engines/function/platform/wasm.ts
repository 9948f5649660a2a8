/**
 * `index.wasm`: a WASI program (preview 1) that speaks CGI (RFC 3875). Each request runs it again, with the request in its
 * environment and on standard input, and its answer on standard output. The items of the storage are files in `/data`.
 */
import { ConsoleStdout, File, OpenFile, PreopenDirectory, WASI } from '@bjorn3/browser_wasi_shim'
import { createLineSplitter } from '@selvedge/protocol/lines'
import { logLines } from '../../log-lines.ts'
import { joined } from './bytes.ts'
import type { Surroundings } from './handler.ts'
import { openFiles } from './wasm-files.ts'

const decoder = new TextDecoder()
const encoder = new TextEncoder()

export async function hostWasm(source: Uint8Array<ArrayBuffer>, { env, info, storage }: Surroundings) {
  const module = await WebAssembly.compile(source)

  return async (request: Request): Promise<Response> => {
    const input = new Uint8Array(await request.arrayBuffer())
    const output: Uint8Array[] = []
    const errors = createErrorOutput()
    const files = new Map<string, File>()
    const wasi = new WASI(
      [info.serviceType],
      Object.entries({ ...env, ...cgiVariables(request, input.length) }).map(
        ([name, value]) => `${name}=${value}`,
      ),
      [
        new OpenFile(new File(input)),
        new ConsoleStdout((bytes) => output.push(bytes.slice())),
        new ConsoleStdout(errors.write),
        new PreopenDirectory('/data', files),
      ],
    )
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport })
    // From here to the end in one turn: no other request sees or changes the storage in between.
    const writeBack = openFiles(storage, files)
    try {
      const code = wasi.start(instance as never)
      if (code !== 0) throw new Error(`index.wasm ended with exit code ${code}`)
      writeBack()
      return readCgi(output)
    } catch (cause) {
      logOutput(output)
      throw cause
    } finally {
      errors.end()
    }
  }
}

/** Logs what a run writes to standard error, line by line; a run may end in the middle of a line. */
function createErrorOutput() {
  const lines = new TextDecoder()
  const split = createLineSplitter(logLines)
  const log = (found: readonly string[]) => {
    for (const line of found) console.error(line)
  }
  return {
    write: (bytes: Uint8Array) => log(split(lines.decode(bytes, { stream: true }))),
    end() {
      log(split(lines.decode()))
      log(split.end())
    },
  }
}

/** Logs the beginning of what a failed run wrote to standard output: it is no answer, and may say why the run failed. */
function logOutput(output: readonly Uint8Array[]): void {
  const text = decoder.decode(joined(output).subarray(0, logLines.maxLine))
  if (text !== '') console.log(text)
}

/** RFC 3875 § 4.1. */
function cgiVariables(request: Request, length: number): Record<string, string> {
  const { pathname, search } = new URL(request.url)
  const variables: Record<string, string> = {
    GATEWAY_INTERFACE: 'CGI/1.1',
    SERVER_PROTOCOL: 'HTTP/1.1',
    REQUEST_METHOD: request.method,
    PATH_INFO: decodeURIComponent(pathname),
    QUERY_STRING: search.slice(1),
    SCRIPT_NAME: request.headers.get('x-forwarded-prefix') ?? '',
    CONTENT_LENGTH: length === 0 ? '' : String(length),
    CONTENT_TYPE: request.headers.get('content-type') ?? '',
  }
  // "Proxy" would become HTTP_PROXY, which programs take for a setting of their own (CVE-2016-5385).
  for (const [name, value] of request.headers)
    if (name !== 'proxy') variables[`HTTP_${name.toUpperCase().replaceAll('-', '_')}`] = value
  return variables
}

/** RFC 3875 § 6: headers, an empty line, the body. */
function readCgi(output: readonly Uint8Array[]): Response {
  const bytes = joined(output)
  const text = decoder.decode(bytes.subarray(0, 65_536))
  const end = /\r?\n\r?\n/.exec(text)
  if (!end)
    throw new Error(
      'index.wasm wrote no CGI header: "Content-Type: text/plain", an empty line, then the body',
    )
  const headers = new Headers()
  let status = 200
  for (const line of text.slice(0, end.index).split(/\r?\n/)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).trim()
    const value = line.slice(colon + 1).trim()
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10)
    else headers.append(name, value)
  }
  const head = encoder.encode(text.slice(0, end.index + end[0].length)).length
  return new Response(bytes.subarray(head), { status, headers })
}
