import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Method, RpcError } from '@selvedge/protocol'
import { describeKind } from '@selvedge/protocol/tokens'
import { readOrWriteOnce, StoreError } from '@selvedge/service-kit/store'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

export interface ApiKey {
  /** Checks that a call shows the key, unless its method needs no key. @throws RpcError `api_key_invalid` */
  admit(method: Method, caller: { authorization: string | undefined }): void
  /**
   * @param authorization the header as it came
   * @param use what needs the key, such as `updateGps`; a refusal names it
   * @throws RpcError `api_key_invalid`
   */
  expect(authorization: string | undefined, use: string): void
}

/**
 * The key of the local API, in a file that only the runtime's user may read. Created if it does not exist.
 *
 * @throws StoreError
 */
export async function openApiKey(path: string): Promise<ApiKey> {
  const make = () => `${randomBytes(32).toString('base64url')}\n`
  const stored = await readOrWriteOnce(path, make).catch((cause) => {
    throw new StoreError(`can't read or store the API key in ${path}: ${cause.message}`, { cause })
  })
  const key = stored.toString()
  if (key.trim().length < 16)
    throw new StoreError(
      `the API key in ${path} is shorter than 16 characters; remove the file to get a new one`,
      { isUnrepairable: true },
    )
  const expected = digest(key.trim())
  const expect: ApiKey['expect'] = (authorization, use) => {
    const [, given] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
    if (given === undefined)
      throw new RpcError('api_key_invalid', `${use} needs the API key, and the request has no API key`)
    if (timingSafeEqual(digest(given), expected)) return
    const found = describeKind(given)
    // Any text of 43 characters has the form of an API key: that it is the wrong one is all to be said.
    if (found === undefined || found.endsWith('API key'))
      throw new RpcError('api_key_invalid', 'the API key is wrong')
    throw new RpcError(
      'api_key_invalid',
      `this is ${found}; the Authorization header of ${use} needs the API key of the runtime`,
    )
  }
  return {
    expect,
    admit({ name, access }, { authorization }) {
      if (access.caller === 'anyone' && access.withoutApiKey) return
      expect(authorization, name)
    },
  }
}
