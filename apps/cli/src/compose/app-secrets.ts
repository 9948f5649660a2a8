/** The values of the secrets of an app that come from files of its folder, or from variables. */
import { type AppPlan, maxSecretBytes } from '@selvedge/protocol'
import { UsageError } from '../failure.ts'
import { FileRefusal } from './folder-files.ts'
import type { Opened } from './open-compose.ts'

/** A secret of the app, with its value. */
interface SecretValue {
  readonly name: string
  readonly value: Buffer
}

/** @throws UsageError for a value that is missing or too long */
export const readSecretValues = (
  { secrets }: AppPlan,
  opened: Pick<Opened, 'files' | 'folder' | 'variable'>,
): SecretValue[] =>
  secrets.flatMap((secret) =>
    secret.from === 'project' ? [] : [{ name: secret.name, value: readValue(secret, opened) }],
  )

function readValue(
  secret: Exclude<AppPlan['secrets'][number], { from: 'project' }>,
  { files, folder, variable }: Pick<Opened, 'files' | 'folder' | 'variable'>,
): Buffer {
  const refuse = (why: string): UsageError =>
    new UsageError(`secrets.${secret.name}: ${why}`, 'Correct it, and deploy again. Nothing was deployed.')
  if (secret.from === 'environment') {
    const value = Buffer.from(variable(secret.variable) ?? '')
    if (value.length === 0) throw refuse(`the variable ${secret.variable} is not set, or is empty`)
    if (value.length > maxSecretBytes)
      throw refuse(`it has ${value.length} bytes; the limit is ${maxSecretBytes}`)
    return value
  }
  try {
    const { bytes } = files.read(secret.path, folder, maxSecretBytes)
    if (bytes.length > 0) return bytes
  } catch (cause) {
    if (cause instanceof FileRefusal) throw refuse(`${secret.path}: ${cause.message}`)
    throw cause
  }
  throw refuse(`${secret.path} is empty`)
}
