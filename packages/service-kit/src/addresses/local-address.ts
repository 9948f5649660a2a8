/** Where a listener for programs of this machine is: the path of a Unix socket, or an address and a port of the loopback. */
export type LocalAddress =
  | { readonly path: string }
  | { readonly address: '127.0.0.1' | '::1'; readonly port: number }

/** @returns undefined for a text that is neither an absolute path nor `<loopback address>:<port>` */
export function readLocalAddress(text: string): LocalAddress | undefined {
  if (text.startsWith('/')) return { path: text }
  const [, address, digits] = /^(127\.0\.0\.1|\[::1\]|localhost):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (address === undefined || port > 65_535) return undefined
  return { address: address === '[::1]' ? '::1' : '127.0.0.1', port }
}
