/**
 * Everything in a support bundle passes through here: text of other machines loses its control sequences, and secrets, e-mail
 * addresses and the name of the home folder are removed.
 */
import { onOneLine, redactText } from '@selvedge/protocol/redaction'
import { formsOf } from './forms.ts'

/**
 * Characters of one text that are read and shown, members of one list or object, depth of a value, and values in all. The last
 * characters of a text that is cut are left out: the cut may be inside a secret, which is then not recognized.
 */
const limits = { read: 20_000, cutOff: 5000, text: 1000, members: 300, depth: 8, values: 50_000 }

export interface Neutral {
  text(text: string): string
  /** The same of every text in a value, names of members too. Long lists and texts are cut. */
  value(value: unknown, depth?: number): unknown
}

/** @param home folder of the user; @param secrets known values that must not be shown */
export function createNeutral(home: string, secrets: readonly string[]): Neutral {
  const forms = secrets.filter((secret) => secret.length >= 8).flatMap(formsOf)

  function text(found: string): string {
    const isCut = found.length > limits.read
    let shown = onOneLine(found.slice(0, limits.read))
    for (const form of forms) shown = shown.replaceAll(form, '<redacted>')
    shown = redactText(shown).replaceAll(word, withoutEmail)
    if (home.length > 1) shown = shown.replaceAll(home, '~')
    const most = isCut ? Math.max(0, shown.length - limits.cutOff) : shown.length
    return shown.length > limits.text || isCut ? `${shown.slice(0, Math.min(most, limits.text))}…` : shown
  }

  let left = limits.values
  function value(found: unknown, depth = 0): unknown {
    if (--left < 0) return '…'
    if (typeof found === 'string') return text(found)
    if (typeof found !== 'object' || found === null) return found
    if (depth > limits.depth) return '…'
    if (Array.isArray(found)) return found.slice(0, limits.members).map((each) => value(each, depth + 1))
    const members = Object.entries(found).slice(0, limits.members)
    return Object.fromEntries(members.map(([name, inner]) => [text(name), value(inner, depth + 1)]))
  }
  return { text, value }
}

/** Whole words: a pattern that begins inside of a word would read it once for each of its letters. */
const word = /[^\s<>"'(),;:]+/g

function withoutEmail(found: string): string {
  const at = found.lastIndexOf('@')
  return at > 0 && found.indexOf('.', at + 2) > 0 ? '<e-mail>' : found
}
