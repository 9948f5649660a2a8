import { parseJson } from '@selvedge/protocol/jsonrpc'

/** The parts of a WebAuthn response that the library does not check. */
export interface PasskeyAnswer {
  /** Credential ID in base64url. */
  readonly id: string
  /** Handle of the person in base64url; absent in registrations. */
  readonly userHandle: string | undefined
}

/** Maximum characters in base64url: an identifier has at most 1,023 bytes (WebAuthn § 4). */
const maxCharacters = { id: 1364, clientData: 4096, userHandle: 128 }
const isBase64url = (value: unknown, maxLength: number): value is string =>
  typeof value === 'string' && value.length <= maxLength && /^[\w-]+$/.test(value)

/** @returns undefined if the response has another form, or was created in a frame of another origin */
export function readPasskeyAnswer(answer: unknown): PasskeyAnswer | undefined {
  const { id, response } = Object(answer) as Record<string, unknown>
  const { clientDataJSON, userHandle } = Object(response) as Record<string, unknown>
  if (!isBase64url(id, maxCharacters.id) || !isBase64url(clientDataJSON, maxCharacters.clientData))
    return undefined
  if (userHandle !== undefined && !isBase64url(userHandle, maxCharacters.userHandle)) return undefined
  try {
    const clientData = Object(parseJson(Buffer.from(clientDataJSON, 'base64url').toString(), 8))
    const { crossOrigin = false, topOrigin } = clientData as Record<string, unknown>
    return crossOrigin === false && topOrigin === undefined ? { id, userHandle } : undefined
  } catch {
    return undefined
  }
}

/** The handle by which an authenticator names a person. */
export const userHandleOf = (personId: string): string => Buffer.from(personId).toString('base64url')
