/** The words between the runtime and the program that hosts a function: one JSON value a line, over the instance's own socket. */
/** What a function is told of its surroundings: `context.info`, in the names of this API family. */
export interface ServiceInfo {
  readonly httpPort: number
  readonly nodeId: string
  readonly apiRoot: string
  readonly serviceType: string
}

/** Changes of a container's storage. */
export interface StorageChange {
  readonly set?: Readonly<Record<string, string>>
  readonly remove?: readonly string[]
}

export interface StartOrder {
  readonly language: 'js' | 'wasm'
  /** Text of a script, base64 of a WASM module. */
  readonly source: string
  readonly env: Readonly<Record<string, string>>
  readonly info: ServiceInfo
  readonly storage: Readonly<Record<string, string>>
  /** Most bytes of keys and values. */
  readonly quota: number
}

export type ToFunction =
  | { readonly start: StartOrder }
  | { readonly changed: StorageChange }
  | { readonly done: number; readonly value?: unknown }
  | { readonly failed: number; readonly reason: string }
  | { readonly ping: number }
  | { readonly stop: true }

export type FromFunction =
  | { readonly ready: true }
  | { readonly broken: string }
  | { readonly write: number; readonly change: StorageChange }
  | { readonly identify: number; readonly audience: string }
  | { readonly pong: number }

/** Names of the sockets in an instance's folder. */
export const sockets = { control: 'control', service: 'service', host: 'host' } as const

/** Name that requests over the host socket are addressed to: one that no name server may resolve (RFC 6761 § 6.4). */
export const runtimeHost = 'runtime.invalid:80'

/** Header that names the URL a function wants to call. */
export const targetHeader = 'x-selvedge-target'

/** Bytes that an item of the storage counts for: what it holds, and what it costs to hold anything. */
export const sizeOf = (key: string, value: string): number => 64 + key.length + value.length

/** Splits a stream of text into lines. */
export function createLineReader(
  onLine: (line: string) => void,
  maxLine = Number.POSITIVE_INFINITY,
): (text: string) => void {
  let rest = ''
  return (text) => {
    // A long line comes in many parts: they are looked at once, when it is whole.
    if (!text.includes('\n')) rest += text
    else {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) onLine(line)
    }
    if (rest.length > maxLine) {
      onLine(rest)
      rest = ''
    }
  }
}
