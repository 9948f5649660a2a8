// A component in AssemblyScript: it counts its requests in wasi:keyvalue, and fetches what the query names.
// @ts-nocheck
// biome-ignore-all lint: AssemblyScript is not TypeScript

@external('wasi:http/types@0.2.6', '[method]incoming-request.path-with-query')
declare function pathOf(request: i32, result: usize): void
@external('wasi:http/types@0.2.6', '[constructor]fields')
declare function newFields(): i32
@external('wasi:http/types@0.2.6', '[constructor]outgoing-response')
declare function newResponse(fields: i32): i32
@external('wasi:http/types@0.2.6', '[method]outgoing-response.body')
declare function bodyOf(response: i32, result: usize): void
@external('wasi:http/types@0.2.6', '[method]outgoing-body.write')
declare function streamOf(body: i32, result: usize): void
@external('wasi:http/types@0.2.6', '[static]outgoing-body.finish')
declare function finish(body: i32, has: i32, trailers: i32, result: usize): void
@external('wasi:http/types@0.2.6', '[static]response-outparam.set')
declare function setResponse(out: i32, tag: i32, a: i32, b: i32, c: i64, d: i32, e: i32, f: i32, g: i32): void
@external('wasi:http/types@0.2.6', '[constructor]outgoing-request')
declare function newRequest(fields: i32): i32
@external('wasi:http/types@0.2.6', '[method]outgoing-request.set-authority')
declare function setAuthority(request: i32, has: i32, at: usize, length: i32): i32
@external('wasi:http/types@0.2.6', '[method]outgoing-request.set-scheme')
declare function setScheme(request: i32, has: i32, tag: i32, at: usize, length: i32): i32
@external('wasi:http/types@0.2.6', '[method]future-incoming-response.subscribe')
declare function subscribe(future: i32): i32
@external('wasi:http/types@0.2.6', '[method]future-incoming-response.get')
declare function get(future: i32, result: usize): void
@external('wasi:http/types@0.2.6', '[method]incoming-response.consume')
declare function consume(response: i32, result: usize): void
@external('wasi:http/types@0.2.6', '[method]incoming-body.stream')
declare function inputOf(body: i32, result: usize): void
@external('wasi:http/outgoing-handler@0.2.6', 'handle')
declare function send(request: i32, has: i32, options: i32, result: usize): void
@external('wasi:io/poll@0.2.6', '[method]pollable.block')
declare function block(pollable: i32): void
@external('wasi:io/streams@0.2.6', '[method]input-stream.blocking-read')
declare function read(stream: i32, length: i64, result: usize): void
@external('wasi:io/streams@0.2.6', '[method]output-stream.blocking-write-and-flush')
declare function write(stream: i32, at: usize, length: i32, result: usize): void
@external('wasi:io/streams@0.2.6', '[resource-drop]output-stream')
declare function dropOutput(stream: i32): void
@external('wasi:keyvalue/store@0.2.0-draft', 'open')
declare function open(at: usize, length: i32, result: usize): void
@external('wasi:keyvalue/atomics@0.2.0-draft', 'increment')
declare function increment(bucket: i32, at: usize, length: i32, delta: i64, result: usize): void

export function cabi_realloc(old: usize, oldSize: usize, align: usize, size: usize): usize {
  return heap.alloc(size)
}

const area: usize = heap.alloc(64)

function count(): i64 {
  const name = String.UTF8.encode('default')
  open(changetype<usize>(name), name.byteLength, area)
  if (load<u8>(area) != 0) return -1
  const bucket = load<i32>(area, 4)
  const key = String.UTF8.encode('count')
  increment(bucket, changetype<usize>(key), key.byteLength, 1, area)
  return load<u8>(area) == 0 ? load<i64>(area, 8) : -1
}

// The body of http://<authority>/, or "refused" for what the host does not allow.
function request(authority: string): string {
  const sent = newRequest(newFields())
  const text = String.UTF8.encode(authority)
  setAuthority(sent, 1, changetype<usize>(text), text.byteLength)
  setScheme(sent, 1, 0, 0, 0)
  send(sent, 0, 0, area)
  if (load<u8>(area) != 0) return 'not sent'
  const future = load<i32>(area, 8)
  block(subscribe(future))
  get(future, area)
  if (load<u8>(area, 16) != 0) return 'refused'
  consume(load<i32>(area, 24), area)
  inputOf(load<i32>(area, 4), area)
  read(load<i32>(area, 4), 1000, area)
  return load<u8>(area) == 0 ? String.UTF8.decodeUnsafe(load<usize>(area, 4), load<usize>(area, 8)) : ''
}

// `wasi:http/incoming-handler@0.2.6#handle`: AssemblyScript exports no such name, the build renames it.
export function handle(incoming: i32, out: i32): void {
  pathOf(incoming, area)
  const path = load<u8>(area) ? String.UTF8.decodeUnsafe(load<usize>(area, 4), load<usize>(area, 8)) : ''
  const at = path.indexOf('?')
  const answer = String.UTF8.encode(`${count()} ${at < 0 ? '' : request(path.slice(at + 1))}`)
  const response = newResponse(newFields())
  bodyOf(response, area)
  const body = load<i32>(area, 4)
  streamOf(body, area)
  const stream = load<i32>(area, 4)
  setResponse(out, 0, response, 0, 0, 0, 0, 0, 0)
  write(stream, changetype<usize>(answer), answer.byteLength, area)
  dropOutput(stream)
  finish(body, 0, 0, area)
}
