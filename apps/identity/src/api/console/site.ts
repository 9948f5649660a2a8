/** The URL of the console, parsed once: pages ask for it with each request, and it is known when the service listens. */
export function createSite(consoleUrl: () => string): () => URL {
  let known: { readonly text: string; readonly url: URL } | undefined
  return () => {
    const text = consoleUrl()
    if (known?.text !== text) known = { text, url: new URL(text) }
    return known.url
  }
}
