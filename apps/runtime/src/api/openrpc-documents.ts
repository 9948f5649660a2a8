import { type Method, openRpcDocument, rpcPath, version } from '@selvedge/protocol'

export interface OpenRpcDocument {
  /** Frozen: the dispatcher caches its text. */
  readonly value: object
  readonly text: string
}

/**
 * The OpenRPC document for a URL of the API, made once per URL: making it needs 10 to 20 ms of CPU, and any caller may ask for it.
 *
 * @param methods the method table
 * @returns a function of the URL of a listener, without path; there is one URL per listener
 */
export function createOpenRpcDocuments(methods: readonly Method[]): (url: string) => OpenRpcDocument {
  const documents = new Map<string, OpenRpcDocument>()
  return (url) => {
    let document = documents.get(url)
    if (!document) {
      const value = Object.freeze(
        openRpcDocument(methods, { title: 'Selvedge runtime', version, url: url + rpcPath }),
      )
      document = { value, text: JSON.stringify(value) }
      documents.set(url, document)
    }
    return document
  }
}
