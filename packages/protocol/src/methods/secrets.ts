import * as z from 'zod'
import { secretNamePattern } from '../mcm/settings/secrets.ts'
import { method, param } from './method.ts'
import { edgeAccessToken, isoTime } from './values.ts'

const access = { caller: 'token', token: 'associated', scope: 'edge:mcm' } as const

const name = param(
  'name',
  z.string().regex(secretNamePattern),
  'a name of 1 to 63 letters, digits and . _ -, beginning with a letter or a digit',
  'Name of the secret, as in the setting `MCM.SECRETS`. Each project has its own names.',
)

/** Bytes of a value at most. */
export const maxSecretBytes = 65_536

const secretRecord = z.object({
  name: z.string(),
  size: z.number().int().describe('Bytes of the value'),
  updated: isoTime.describe('When it was set last'),
  damaged: z.boolean().describe('Whether the stored value cannot be decrypted any more. Set it again.'),
  containers: z.array(z.string()).describe('IDs of the containers that use it'),
})

export type SecretRecord = z.infer<typeof secretRecord>

export const setSecret = method({
  name: 'setSecret',
  summary: 'Stores a secret for services of the project, or replaces its value.',
  description:
    'No method returns the value. Running services that use the secret get the new one: with a new revision, or with the signal of `MCM.SECRETS_SIGNAL`. That continues after the answer; their history has the result.',
  params: [
    edgeAccessToken,
    name,
    param(
      'value',
      z.string().min(1).max(98_304),
      `a string of at most ${maxSecretBytes} bytes as UTF-8, or base64 of as many bytes`,
      'The value.',
    ),
    param(
      'encoding',
      z.enum(['text', 'base64']).default('text'),
      '"text" or "base64"',
      'How `value` is to be read. Default: `text`.',
    ),
  ],
  result: secretRecord,
  reasons: ['limit_exceeded', 'storage_full'],
  access,
})

export const getSecrets = method({
  name: 'getSecrets',
  summary: 'The secrets of the project, without their values.',
  params: [edgeAccessToken],
  result: z.array(secretRecord),
  reasons: [],
  access,
})

export const removeSecret = method({
  name: 'removeSecret',
  summary: 'Removes a secret that no container uses.',
  params: [edgeAccessToken, name],
  result: z.object({ name: z.string() }),
  reasons: ['not_found', 'in_use', 'storage_full'],
  access,
})
