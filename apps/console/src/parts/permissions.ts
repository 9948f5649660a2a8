import type { Scope } from '@selvedge/protocol/tokens'

/** What a person allows with each scope. */
export const permissions: Readonly<Record<Scope, string>> = {
  openid: 'Know who you are',
  'edge:mcm': 'Manage services on your devices',
  'edge:clusters': 'Find devices near each other',
  'edge:account:associate': 'Add devices to the account',
  'edge:account:unassociate': 'Remove devices from the account',
  offline_access: 'Stay signed in',
}

/** @param meaning of a scope that this console does not know: its service may be newer */
export const permissionOf = (scope: string, meaning: string): string =>
  Object.hasOwn(permissions, scope) ? permissions[scope as Scope] : meaning
