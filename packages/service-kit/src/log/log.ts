/** One JSON line an event, on standard error. Secrets never go in: callers log ids, not tokens. */

export type Level = 'debug' | 'info' | 'warn' | 'error'

export interface Log {
  debug(message: string, fields?: object): void
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
  error(message: string, fields?: object): void
}

const rank: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 }

/** @param write gets each line, without its end */
export function createLog(
  options: { service: string; level: Level; now: () => number },
  write: (line: string) => void = (line) => process.stderr.write(`${line}\n`),
): Log {
  const at =
    (level: Level) =>
    (message: string, fields: object = {}) => {
      if (rank[level] < rank[options.level]) return
      const line = {
        time: new Date(options.now()).toISOString(),
        level,
        service: options.service,
        message,
        ...fields,
      }
      write(JSON.stringify(line, showCause))
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Errors have no enumerable members: without this a cause would be logged as {}. */
function showCause(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value
  return {
    name: value.name,
    message: value.message,
    stack: value.stack,
    ...(value.cause ? { cause: value.cause } : {}),
  }
}
