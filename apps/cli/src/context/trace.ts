import type { Fetch } from '@selvedge/client'
import { onOneLine, redactText } from '@selvedge/protocol/redaction'
import type { Terminal } from '../output/terminal.ts'
import { redactBody, redactHeader } from './redact.ts'

const quote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** Prints each call on standard error as the curl line that makes it; secrets are replaced by what they are. */
export function traced(fetch: Fetch, terminal: Terminal, socketPath?: string): Fetch {
  return (url, init) => {
    const words = ['curl', '-sS', '-X', init.method]
    if (socketPath !== undefined) words.push('--unix-socket', quote(socketPath))
    for (const [name, value] of Object.entries(init.headers))
      words.push('-H', quote(`${name}: ${redactHeader(name, value)}`))
    const contentType = init.headers['Content-Type'] ?? ''
    if (init.body !== undefined) words.push('-d', quote(redactBody(init.body, contentType)))
    words.push(quote(redactText(url)))
    terminal.note(onOneLine(words.join(' ')))
    return fetch(url, init)
  }
}
