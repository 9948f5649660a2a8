import type { Fetch } from '@selvedge/client'

const quote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** Tokens and keys end up in scroll-back buffers and bug reports: each is shown as the kind of secret that it is. */
const withoutSecrets = (text: string): string =>
  text
    .replaceAll(/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>')
    .replaceAll(/(Bearer|DPoP) [^\s'"<]+/g, '$1 <key>')

/** Prints each call as the curl line that makes it, on standard error. */
export function traced(fetch: Fetch, socketPath?: string): Fetch {
  return (url, init) => {
    const words = ['curl', '-sS', '-X', init.method]
    if (socketPath !== undefined) words.push('--unix-socket', quote(socketPath))
    for (const [name, value] of Object.entries(init.headers)) words.push('-H', quote(`${name}: ${value}`))
    if (init.body !== undefined) words.push('-d', quote(init.body))
    words.push(quote(url))
    process.stderr.write(`${withoutSecrets(words.join(' '))}\n`)
    return fetch(url, init)
  }
}
