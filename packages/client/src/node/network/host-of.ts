/** Where a URL leads to. */

/** @returns its name or address, without brackets */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

/** @returns its port, or the one of its protocol */
export const portOf = ({ port, protocol }: URL): number =>
  Number(port) || (protocol === 'https:' || protocol === 'wss:' ? 443 : 80)
