/** Secrets that a container gets: names, and files. */
import { listOf, maxGiven, withoutRepeats } from './lists.ts'

/** Name of a secret, and of its file. */
export const secretNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
const secretPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}(?::\/run\/secrets\/[A-Za-z0-9][A-Za-z0-9._-]{0,62})?$/

const secretsFolder = '/run/secrets/'

/** A secret that a container gets: its name, and the file in the container; undefined without one in the setting. */
export interface UsedSecret {
  readonly name: string
  readonly file: string | undefined
}

/** The secrets of the setting `MCM.SECRETS`, in its order. */
export const usedSecrets = (texts: readonly string[]): UsedSecret[] =>
  texts.map((text) => {
    const [name = '', path] = text.split(':')
    return { name, file: path?.slice(secretsFolder.length) }
  })

export function readSecrets(text: string): readonly string[] | undefined {
  const secrets = listOf(secretPattern, text)
  if (!secrets || secrets.length > maxGiven) return undefined
  const used = usedSecrets(secrets)
  const isUnique =
    withoutRepeats(used.map(({ name }) => name)) && withoutRepeats(used.map(({ name, file }) => file ?? name))
  return isUnique ? secrets : undefined
}
