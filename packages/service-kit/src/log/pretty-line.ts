import { escapeControls } from '@selvedge/protocol/redaction'

const colours: Readonly<Record<string, string>> = { debug: '90', info: '36', warn: '33', error: '31' }

/**
 * A line of the log for a person: time, level, service and message, then the other members, then the stack of a cause.
 *
 * @param line JSON, without secrets
 */
export function prettyLine(line: string, isTerminal: boolean): string {
  const { time, level, service, message, ...rest } = JSON.parse(line) as Record<string, unknown>
  const { cause, ...fields } = rest
  const shownLevel = String(level).toUpperCase().padEnd(5)
  const coloured = isTerminal ? `\u001b[${colours[String(level)]}m${shownLevel}\u001b[0m` : shownLevel
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${safe(value)}`)
  const head = `${String(time).slice(11, 23)} ${coloured} ${safe(service)} ${safe(message)}${pairs.join('')}`
  return [head, ...linesOf(cause)].join('\n')
}

/** Text as it is, everything else as JSON; control characters are escaped. */
const safe = (value: unknown): string => {
  const json = escapeControls(JSON.stringify(value))
  return typeof value === 'string' && /^[^\s"\\]+(?: [^\s"\\]+)*$/.test(json.slice(1, -1))
    ? json.slice(1, -1)
    : json
}

function linesOf(cause: unknown): string[] {
  if (cause === undefined) return []
  const stack = (cause as { stack?: unknown } | null)?.stack
  if (typeof stack !== 'string') return [`    ${safe(cause)}`]
  return stack.split('\n').map((line) => `    ${escapeControls(JSON.stringify(line.trim())).slice(1, -1)}`)
}
