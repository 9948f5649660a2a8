import { OAuthError } from '@selvedge/protocol'
import { isScope } from '@selvedge/protocol/tokens'
import type { Project } from '../../registry/projects/projects.ts'
import { quote } from './quote.ts'

/** Every scope asked for exists, and the project may have it. Gives the list without repetitions, in the order asked. */
export function checkScopeAllowed({ scopes }: Project, asked: string): string {
  const granted = new Set(asked.split(' '))
  for (const scope of granted) {
    if (!isScope(scope)) {
      throw new OAuthError(
        'invalid_scope',
        `${quote(scope)} is no scope; scopes are separated by single spaces`,
      )
    }
    if (!scopes.includes(scope))
      throw new OAuthError('invalid_scope', `the project may not ask for ${quote(scope)}`)
  }
  return [...granted].join(' ')
}
