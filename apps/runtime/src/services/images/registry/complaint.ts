/**
 * The words of a server about its refusal. Registries send a list of errors (OCI distribution specification 1.1, "Error codes"), token servers
 * that or an error of OAuth 2.0 (RFC 6749 § 5.2) or `details`; some send a line of text. Users see it, so it is short, on one line, and has no secrets.
 */
import { onOneLine, redactText } from '@selvedge/protocol/redaction'
import * as z from 'zod'
import { within } from '../paced.ts'
import { type Answer, readText } from './http-get.ts'

/** Bytes of a body that are read, characters that are shown, and milliseconds for the body. */
const limits = { bytes: 16 * 1024, shown: 300, ms: 5000 } as const

const text = z.string().optional()
const errorList = z.object({ errors: z.array(z.object({ code: text, message: text })).min(1) })
const oauthError = z.object({ error: z.string(), error_description: text })
const details = z.object({ details: z.string() })

/**
 * Reads and closes an answer. Never rejects.
 *
 * @param secrets are removed from the text: a server may repeat what it got
 * @returns for the end of a sentence: `: "denied: no access"`, or `` if the server sends nothing that can be shown
 */
export async function readComplaint(answer: Answer, secrets: readonly string[]): Promise<string> {
  const { headers } = answer
  try {
    if (headers['content-encoding'] !== undefined) return ''
    const late = () => new Error('the body did not arrive in time')
    const body = await within(readText(answer, limits.bytes), limits.ms, late)
    const said = isPlainText(headers['content-type']) ? body : wordsIn(JSON.parse(body))
    const shown = clean(said, secrets)
    return shown === '' ? '' : `: ${JSON.stringify(shown)}`
  } catch {
    return ''
  } finally {
    answer.discard()
  }
}

const isPlainText = (type = ''): boolean => /^text\/plain\b/i.test(type) && type.length < 100

/** As Docker shows it: the code in lower case, and the message. */
function wordsIn(json: unknown): string {
  const list = errorList.safeParse(json)
  if (list.success) {
    const { code = '', message } = list.data.errors[0]!
    return [code.toLowerCase().replaceAll('_', ' '), message].filter(Boolean).join(': ')
  }
  const oauth = oauthError.safeParse(json)
  if (oauth.success) return [oauth.data.error, oauth.data.error_description].filter(Boolean).join(': ')
  const other = details.safeParse(json)
  return other.success ? other.data.details : ''
}

function clean(said: string, secrets: readonly string[]): string {
  const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, '<redacted>'), said)
  const line = onOneLine(redactText(hidden)).trim()
  return line.length > limits.shown ? `${line.slice(0, limits.shown)}…` : line
}
