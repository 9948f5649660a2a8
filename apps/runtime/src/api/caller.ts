import type { AccessClaims } from '@selvedge/protocol/tokens'

/** Who counts as one caller where streams and connections are limited: a subject with its client, whatever tokens it has. */
export const callerOf = ({ account_id, client_id, sub }: AccessClaims): string =>
  JSON.stringify([account_id, client_id, sub])
