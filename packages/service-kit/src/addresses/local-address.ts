/** Where a listener for programs of this machine is: the path of a Unix socket, or a port of addresses of the loopback. */
export type LocalAddress =
  | { readonly path: string }
  | { readonly addresses: readonly ('127.0.0.1' | '::1')[]; readonly port: number }

/** `localhost` is both addresses: each of them may be the one that a client tries. */
const addressesOf = {
  '127.0.0.1': ['127.0.0.1'],
  '[::1]': ['::1'],
  localhost: ['127.0.0.1', '::1'],
} as const

/** @returns undefined for a text that is neither an absolute path nor `<loopback address>:<port>` */
export function readLocalAddress(text: string): LocalAddress | undefined {
  if (text.startsWith('/')) return { path: text }
  const [, address, digits] = /^(127\.0\.0\.1|\[::1\]|localhost):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (address === undefined || port > 65_535) return undefined
  return { addresses: addressesOf[address as keyof typeof addressesOf], port }
}
