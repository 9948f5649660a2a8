/** Lists in settings: parts separated by spaces and commas, and JSON arrays of texts. */

/** Secrets, devices and folders of one container at most. */
export const maxGiven = 32

export const listOf = (pattern: RegExp, text: string): readonly string[] | undefined => {
  const parts = text.split(/[\s,]+/).filter((each) => each !== '')
  return parts.every((each) => pattern.test(each)) ? parts : undefined
}

export const withoutRepeats = (texts: readonly string[]): boolean => new Set(texts).size === texts.length

/** Characters of a JSON array, and its texts. */
const maxJson = { characters: 32_768, texts: 256 }

/** A JSON array of texts, without NUL: the system would end a text there. */
export function readTexts(json: string): readonly string[] | undefined {
  if (json.length > maxJson.characters) return undefined
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return undefined
  }
  const isText = (each: unknown) => typeof each === 'string' && !each.includes('\0')
  return Array.isArray(value) && value.length <= maxJson.texts && value.every(isText) ? value : undefined
}

/** What {@link readTexts} expects. */
export const texts = 'a JSON array of texts, such as ["sh", "-c", "echo hello"]'
