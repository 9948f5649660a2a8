import { UsageError } from '../failure.ts'

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** For `127.0.0.1:8083` and `id.example.com`: the URL that was meant. */
function withScheme(text: string): string {
  if (!/^[\w.-]+(?::\d{1,5})?$/.test(text)) return 'For example https://id.example.com'
  const isHere = /^(?:localhost|127\.)/.test(text)
  return `Did you mean ${isHere ? 'http' : 'https'}://${text}?`
}

/**
 * The URL of a service that credentials may travel to: HTTPS, or HTTP to this machine, without user, query or fragment.
 *
 * @param what names the URL in the refusal, such as `--identity-url`
 * @returns the URL without a slash at its end
 * @throws UsageError
 */
export function readServiceUrl(text: string, what: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const shown = JSON.stringify(text.replace(/\/\/[^/@]*@/, '//…@'))
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError(`${what} is ${shown}, which is not an HTTP URL`, withScheme(text))
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new UsageError(
      `${what} is ${shown}; user, password, query and fragment are not allowed in it`,
      'Give scheme, host and port, such as https://id.example.com:8443',
    )
  if (url.protocol === 'http:' && !loopback.test(url.hostname))
    throw new UsageError(
      `${what} is ${shown}: tokens are sent to another machine over HTTPS only`,
      `Use https://${url.host}`,
    )
  let end = url.href.length
  while (url.href[end - 1] === '/') end--
  return url.href.slice(0, end)
}
