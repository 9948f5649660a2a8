import { redactText, withoutControls } from '@selvedge/protocol/redaction'

/** Writes a sentence for a person to standard error, without secrets and control sequences. */
export function writeNote(sentence: string): void {
  process.stderr.write(`${withoutControls(redactText(sentence))}\n`)
}
