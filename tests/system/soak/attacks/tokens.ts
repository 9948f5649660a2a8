import { randomBytes } from 'node:crypto'

const random = (bytes: number) => randomBytes(bytes).toString('base64url')
const header = Buffer.from('{"alg":"ES256","typ":"at+jwt","kid":"x"}').toString('base64url')

/** A token that has the form of an access token, and nobody's signature. */
export const forgedToken = (): string => `${header}.${random(300)}.${random(64)}`
