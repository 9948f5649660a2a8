import type { IncomingMessage } from 'node:http'
import { readAuthorization } from '@selvedge/protocol/tokens'
import { addressOf, limitKeyOf } from '@selvedge/service-kit/http'
import { createSessionCookie } from '../../../../apps/identity/src/api/console/cookie.ts'
import { expectThat, type Target } from '../engine/target.ts'

const seed = (...lines: string[]) => Buffer.from(lines.join('\n'), 'latin1')

/** Small headers that say who calls, a line each: X-Forwarded-For, Cookie, Authorization. */
export const callers: Target = {
  name: 'callers',
  covers: [
    'packages/service-kit/src/http/address.ts',
    'apps/identity/src/api/console/cookie.ts',
    'packages/protocol/src/tokens/authorization.ts',
  ],
  seeds: () => [
    seed('10.0.0.1, 192.0.2.7', `a=1; selvedge_session=${'s'.repeat(43)}; b=2`, 'Bearer abc.def.ghi'),
    seed('2001:db8:1:2::1', 'selvedge_session=', 'DPoP x'),
    seed('::ffff:10.0.0.1', `${'a=b; '.repeat(500)}selvedge_session=s`, `Bearer ${'t'.repeat(4000)}`),
  ],
  words: ['::', ':', ', ', ';', '=', 'selvedge_session=', 'Bearer ', ' ', '%eth0', '::ffff:'],
  maxBytes: 16 * 1024,
  open: () => {
    const cookie = createSessionCookie(false)
    return {
      parse(input) {
        const [forwarded = '', cookies = '', authorization = ''] = input.toString('latin1').split('\n')
        const request = {
          socket: { remoteAddress: '127.0.0.1' },
          headers: { 'x-forwarded-for': forwarded },
        } as unknown as IncomingMessage
        const key = limitKeyOf(addressOf(request, ['127.0.0.1']))
        const secrets = cookie.read(cookies)
        const token = readAuthorization(authorization)?.token
        expectThat(key !== '', 'a caller has no key')
        expectThat(secrets.length <= 8, 'a request has more secrets than are looked up')
        expectThat(token === undefined || !token.includes(' '), 'a token has a space')
        return `${key.includes(':')} ${secrets.length > 0} ${token !== undefined}`
      },
    }
  },
}
