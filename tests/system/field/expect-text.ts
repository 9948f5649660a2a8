/** @throws Error with the text if the pattern does not match */
export function expectText(text: string, pattern: RegExp): void {
  if (!pattern.test(text)) throw new Error(`expected ${pattern}, got ${JSON.stringify(text.slice(0, 500))}`)
}
