/** Scopes in use. A scope that is not listed here is `invalid_scope`. */
export const scopes = {
  openid: 'The answer carries the ID token of the developer.',
  'edge:mcm': 'Images and containers on the node.',
  'edge:clusters': 'Nodes of the account, nearby and on the local network.',
  'edge:account:associate': 'Associate the node with the account.',
  'edge:account:unassociate': 'Remove the account from the node.',
  offline_access: 'A refresh token, so that new tokens can be had without asking again.',
} as const satisfies Record<string, string>

export type Scope = keyof typeof scopes

export const scopeNames = Object.keys(scopes) as readonly Scope[]

/** Scopes of a project without a list of scopes: all but the one that outlives the tokens it was given for. */
export const usualScopes: readonly Scope[] = scopeNames.filter((scope) => scope !== 'offline_access')

export const isScope = (text: string): text is Scope => Object.hasOwn(scopes, text)

/** Whether a space-separated list (RFC 6749 § 3.3) holds a scope. */
export const hasScope = (list: string, scope: string): boolean => list.split(' ').includes(scope)
