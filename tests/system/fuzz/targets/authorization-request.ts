import { OAuthError } from '@selvedge/protocol'
import {
  isRegistered,
  redirectUriProblem,
} from '../../../../apps/identity/src/registry/projects/app-addresses.ts'
import { readParameters, readState } from '../../../../apps/identity/src/tokens/authorize/parameters.ts'
import { parseForm } from '../../../../apps/identity/src/tokens/grants/form.ts'
import { expectThat, outcomeOf, type Target } from '../engine/target.ts'

const registered = ['https://app.example/signed-in', 'http://127.0.0.1/cb', 'com.example.app:/signed-in']
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const request = `response_type=code&client_id=c1&state=s%20&code_challenge=${challenge}&code_challenge_method=S256&max_age=10&prompt=login+consent`

/** A registered URI as browsers read it: same scheme, host, path and query; the port may differ on the loopback interface. */
function readsAsRegistered(uri: string): boolean {
  const url = URL.parse(uri)
  return registered.some((each) => {
    const own = new URL(each)
    if (url?.hostname === '127.0.0.1') url.port = ''
    return url?.href === own.href
  })
}

/** Queries of the authorization endpoint: no redirect URI that passes is another one for a browser. */
export const authorizationRequest: Target = {
  name: 'authorization-request',
  covers: [
    'apps/identity/src/registry/projects/app-addresses.ts',
    'apps/identity/src/tokens/authorize/parameters.ts',
  ],
  seeds: () =>
    [
      ...registered,
      'http://127.0.0.1:51004/cb',
      'https://app.example@evil.example/signed-in',
      'https://app.example/signed-in#x',
    ]
      .flatMap((uri) => [
        `redirect_uri=${encodeURIComponent(uri)}&${request}`,
        `redirect_uri=${uri}&${request}&nonce=${'n'.repeat(4000)}`,
      ])
      .map((each) => Buffer.from(each)),
  words: [
    'redirect_uri=',
    '%2e%2e/',
    '%5C',
    '@',
    '#',
    ':443',
    ':0',
    '//',
    '\\',
    '%00',
    '&prompt=none',
    'javascript:',
  ],
  open: () => ({
    parse: (input) =>
      outcomeOf(() => {
        const form = parseForm(input.toString(), 'ignored')
        const uri = form.get('redirect_uri') ?? ''
        const isKnown = isRegistered(uri, registered, 'native')
        if (isKnown) expectThat(readsAsRegistered(uri), 'a browser reads the redirect URI differently')
        const problem = redirectUriProblem(uri, 'native')
        if (problem === undefined)
          expectThat(new URL(uri).href === uri && new URL(uri).username === '', 'it has a second spelling')
        readState(form)
        const { prompts } = readParameters(form)
        return `${isKnown} ${problem === undefined} ${prompts.size}`
      }, [OAuthError]),
  }),
}
