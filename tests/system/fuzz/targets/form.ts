import { OAuthError } from '@selvedge/protocol'
import { parseForm } from '@selvedge/service-kit/oauth'
import { expectThat, outcomeOf, type Target } from '../engine/target.ts'

/** Forms of the token endpoint: this parser reads them like every other parser. */
export const form: Target = {
  name: 'form',
  covers: ['packages/service-kit/src/oauth/form.ts'],
  seeds: () =>
    [
      'grant_type=refresh_token&refresh_token=abc&client_id=c1',
      'scope=openid+edge%3Amcm&resource=https%3A%2F%2Fbackend.example%2F%C3%BC',
      `subject_token=${'a'.repeat(6000)}&actor_token=${'b%20'.repeat(1000)}&grant_type=x`,
      Array.from({ length: 800 }, (_, at) => `f${at}=${at}%20`).join('&'),
    ].map((each) => Buffer.from(each)),
  words: ['&', '=', '%', '+', '%00', '%C0%AF', '__proto__=', 'grant_type=', '&&'],
  open: () => ({
    parse: (input) => {
      const body = input.toString()
      return outcomeOf(() => {
        const fields = parseForm(body)
        const theirs = new Map(new URLSearchParams(body.startsWith('?') ? `&${body}` : body))
        for (const [name, value] of fields)
          expectThat(theirs.get(name) === value, 'a field means something else to others')
        return `${Math.min(4, fields.size)} fields`
      }, [OAuthError])
    },
  }),
}
