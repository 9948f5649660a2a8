/**
 * `caches` of functions: the Cache API as hosts of module workers have it, with `caches.default`, in the memory of one instance and
 * gone with it. What was not used for the longest time is dropped first.
 */

/** Limits of one instance: bytes of all responses and of one, responses, and names of caches. */
export const cacheLimits = { bytes: 16 * 1024 * 1024, entryBytes: 4 * 1024 * 1024, entries: 1000, names: 16 }
/** Bytes that a response needs beside its text. */
const entryOverhead = 512

interface Entry {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Uint8Array<ArrayBuffer>
  /** Milliseconds of the clock; Infinity: until there is no room. */
  readonly expires: number
  readonly bytes: number
}

interface MatchOptions {
  /** Finds the response for any method, and not for GET alone. */
  readonly ignoreMethod?: boolean
}

interface FunctionCache {
  /** The stored response; undefined without one, or if its time has passed (`Cache-Control`, `Expires`). */
  match(request: RequestInfo | URL, options?: MatchOptions): Promise<Response | undefined>
  /**
   * Stores the response to a GET request, unless its headers forbid it (`no-store`, `no-cache`, `private`, `Set-Cookie`) or it is
   * larger than 4 MiB.
   *
   * @throws TypeError for another method, status 206, `Vary: *`, or a body that was read
   */
  put(request: RequestInfo | URL, response: Response): Promise<void>
  /** @returns whether there was one */
  delete(request: RequestInfo | URL, options?: MatchOptions): Promise<boolean>
}

export interface FunctionCaches {
  readonly default: FunctionCache
  /** A cache of another name. @throws Error for more than 16 names */
  open(name: string): Promise<FunctionCache>
}

/** @param now milliseconds */
export function createCaches(now: () => number = Date.now): FunctionCaches {
  /** By name and URL; the least recently used first. */
  const entries = new Map<string, Entry>()
  const names = new Set<string>()
  let bytes = 0

  function remove(key: string): boolean {
    const entry = entries.get(key)
    if (entry === undefined) return false
    bytes -= entry.bytes
    return entries.delete(key)
  }

  function store(key: string, entry: Entry): void {
    remove(key)
    entries.set(key, entry)
    bytes += entry.bytes
    for (const oldest of entries.keys()) {
      if (bytes <= cacheLimits.bytes && entries.size <= cacheLimits.entries) break
      remove(oldest)
    }
  }

  function find(key: string): Entry | undefined {
    const entry = entries.get(key)
    if (entry === undefined || entry.expires <= now()) {
      remove(key)
      return undefined
    }
    // To the end: the most recently used.
    entries.delete(key)
    entries.set(key, entry)
    return entry
  }

  function open(name: string): FunctionCache {
    const keyOf = ({ url }: Request): string => `${name}\n${url.split('#', 1)[0]}`
    const isFound = ({ method }: Request, { ignoreMethod = false }: MatchOptions) =>
      method === 'GET' || ignoreMethod
    return {
      async match(input, options = {}) {
        const request = requestOf(input)
        const entry = isFound(request, options) ? find(keyOf(request)) : undefined
        return entry && responseOf(entry)
      },
      async put(input, response) {
        const request = requestOf(input)
        expectStorable(request, response)
        const expires = expiryOf(response.headers, now())
        const isKept = expires > now()
        const body = await readWithin(response, isKept ? cacheLimits.entryBytes : 0)
        if (body !== undefined && isKept)
          store(keyOf(request), entryOf(keyOf(request), response, body, expires))
      },
      async delete(input, options = {}) {
        const request = requestOf(input)
        return isFound(request, options) && remove(keyOf(request))
      },
    }
  }

  return {
    default: open(''),
    async open(name) {
      names.add(String(name))
      if (names.size > cacheLimits.names) {
        names.delete(String(name))
        throw new Error(`there are ${cacheLimits.names} caches already; use one of them with other URLs`)
      }
      return open(`=${name}`)
    },
  }
}

/** A request that was read already is still one that a response can be found for. */
const requestOf = (input: RequestInfo | URL): Request =>
  input instanceof Request ? input : new Request(input)

function expectStorable({ method }: Request, { status, headers, bodyUsed }: Response): void {
  if (method !== 'GET') throw new TypeError(`cache.put: the method is ${method}; only GET is stored`)
  if (status === 206) throw new TypeError('cache.put: a part of a response (206) is not stored')
  if (
    headers
      .get('vary')
      ?.split(',')
      .some((each) => each.trim() === '*')
  )
    throw new TypeError('cache.put: a response with "Vary: *" is not stored')
  if (bodyUsed) throw new TypeError('cache.put: the body was read already; store a clone()')
}

/** Until when a shared cache may answer with it (RFC 9111 § 4.2.1), in milliseconds; 0: not at all. */
function expiryOf(headers: Headers, now: number): number {
  const directives = new Map<string, string | undefined>()
  for (const each of (headers.get('cache-control') ?? '').toLowerCase().split(',')) {
    const [name = '', value] = each.trim().split('=', 2)
    directives.set(name, value)
  }
  const forbidden = ['no-store', 'no-cache', 'private'].some((each) => directives.has(each))
  if (forbidden || headers.has('set-cookie')) return 0
  const seconds = directives.get('s-maxage') ?? directives.get('max-age')
  if (seconds !== undefined) return now + Number(/^"?(\d{1,9})"?$/.exec(seconds)?.[1] ?? 0) * 1000
  const expires = headers.get('expires')
  // A date that cannot be read is in the past (RFC 9111 § 5.3).
  return expires === null ? Number.POSITIVE_INFINITY : Date.parse(expires) || 0
}

/** @returns undefined for a body of more bytes, which is cancelled */
async function readWithin({ body }: Response, limit: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const reader = body?.getReader()
  const parts: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
    if (done || value === undefined) break
    length += value.length
    if (length > limit) {
      await reader?.cancel()
      return undefined
    }
    parts.push(value)
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

function entryOf(key: string, response: Response, body: Uint8Array<ArrayBuffer>, expires: number): Entry {
  const { status, statusText } = response
  const headers = [...response.headers]
  const ofHeaders = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  return {
    status,
    statusText,
    headers,
    body,
    expires,
    bytes: entryOverhead + key.length + ofHeaders + body.length,
  }
}

/** Statuses of responses without a body (Fetch standard, null body status). */
const withoutBody = new Set([204, 205, 304])

function responseOf({ status, statusText, headers, body }: Entry): Response {
  const given = headers.map(([name, value]): [string, string] => [name, value])
  return new Response(withoutBody.has(status) ? null : body.slice(), { status, statusText, headers: given })
}
