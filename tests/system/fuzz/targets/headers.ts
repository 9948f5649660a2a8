import {
  linesOf,
  requestHeaders,
  responseHeaders,
  withoutHopByHop,
} from '../../../../apps/runtime/src/services/gateway/headers.ts'
import { expectThat, type Target } from '../engine/target.ts'

const seed = (...lines: string[]) => Buffer.from(lines.join('\n'), 'latin1')
const caller = { account: 'account', client: 'client', scope: 'openid', container: '' }
const facts = {
  caller,
  prefix: '/client/web',
  forwardToken: false,
  from: '10.0.0.1',
  proto: 'http' as const,
  isOfEvents: false,
  requestId: 'own-id',
}

/** Node accepts this many, and 16 KiB in all. */
const maxHeaders = 2000

/** Pairs of name and value, as Node gives them: names are tokens, values have no line breaks. */
function pairsOf(input: Buffer): string[] {
  return input
    .toString('latin1')
    .split('\n')
    .slice(0, maxHeaders)
    .flatMap((line) => {
      const name = line.split(':', 1)[0]!.replaceAll(/[^!#$%&'*+.^_`|~0-9A-Za-z-]/g, '')
      if (name === '') return []
      return [name, line.slice(name.length + 1).replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')]
    })
}

/** Headers on their way through the gateway: what only the gateway may say is said by it alone. */
export const headers: Target = {
  name: 'headers',
  covers: ['apps/runtime/src/services/gateway/headers.ts'],
  seeds: () => [
    seed(
      'Host: device',
      'Accept: */*',
      'X-Selvedge-Account: evil',
      'Connection: close, X-Other',
      'X-Other: 1',
    ),
    seed('Host: device', 'X_Selvedge_Account: evil', 'Forwarded: for=1', 'Authorization: Bearer x'),
    seed('host: device', ...Array.from({ length: 120 }, (_, at) => `X-Header-${at}: a value of this header`)),
  ],
  words: ['X-Selvedge-Account', 'x-forwarded-for', 'Connection: ', 'Host: ', '_', '\n', ',', 'Forwarded: '],
  // Node accepts 16 KiB of headers.
  maxBytes: 16 * 1024,
  open: () => ({
    parse(input) {
      const raw = pairsOf(input)
      const sent = requestHeaders(raw, facts)
      const names = sent
        .filter((_, at) => at % 2 === 0)
        .map((each) => each.toLowerCase().replaceAll('_', '-'))
      for (const own of [
        'x-selvedge-account',
        'x-selvedge-client',
        'forwarded',
        'x-forwarded-prefix',
        'x-request-id',
      ])
        expectThat(names.filter((each) => each === own).length === 1, `${own} is not the gateway's alone`)
      expectThat(
        !names.includes('transfer-encoding') && !names.includes('authorization'),
        'it passes on what ends here',
      )
      withoutHopByHop(raw)
      const lines = linesOf(responseHeaders(raw, { sandboxed: true, requestId: 'own-id' })).split('\r\n')
      expectThat(
        lines.every((each) => each === '' || each.includes(': ')),
        'a header became two lines',
      )
      return `${raw.length > 100} ${sent.length === raw.length}`
    },
  }),
}
