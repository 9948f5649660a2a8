/** Reads the answer of a proxy to CONNECT (RFC 9110 § 9.3.6): a head in bounded memory, and what came in the same packet behind it. */
import { NetworkFailure, shownText } from './network-failure.ts'

/** Bytes of all heads of an answer together, and interim ones (1xx) among them. */
export const answerLimits = { maxHeadBytes: 16 * 1024, maxInterim: 8 } as const

export interface ProxyAnswer {
  readonly status: number
  readonly contentType: string
  /** Schemes of `Proxy-Authenticate`, in lower case. */
  readonly schemes: readonly string[]
  /** What came behind the head. */
  readonly extra: Buffer
}

const endOfHead = Buffer.from('\r\n\r\n')

/**
 * @param shown the proxy, for errors
 * @returns a function that gets the bytes as they arrive: undefined until the answer is there
 * @throws (the function) NetworkFailure `proxy_answer`
 */
export function createAnswerReader(shown: string): (chunk: Buffer) => ProxyAnswer | undefined {
  const head = Buffer.alloc(answerLimits.maxHeadBytes)
  let size = 0
  let start = 0
  let searched = 0
  let interim = 0

  return (chunk) => {
    const taken = chunk.copy(head, size)
    size += taken
    for (;;) {
      const end = head.subarray(0, size).indexOf(endOfHead, searched)
      if (end < 0) break
      const answer = parse(head.toString('latin1', start, end), shown)
      start = searched = end + endOfHead.length
      if (answer.status >= 200)
        return { ...answer, extra: Buffer.concat([head.subarray(start, size), chunk.subarray(taken)]) }
      if (answer.status === 101) throw failure(shown, 'changed the protocol (101)')
      if (++interim > answerLimits.maxInterim) throw failure(shown, 'announced its answer again and again')
    }
    if (size === head.length) throw failure(shown, `sent a head of more than ${head.length} bytes`)
    searched = Math.max(start, size - endOfHead.length + 1)
    return undefined
  }
}

const failure = (shown: string, what: string): NetworkFailure =>
  new NetworkFailure(
    'proxy_answer',
    `the proxy ${shown} ${what} in place of an answer to CONNECT: check that it is an HTTP proxy`,
  )

function parse(text: string, shown: string): Omit<ProxyAnswer, 'extra'> {
  const [first = '', ...fields] = text.split('\r\n')
  const status = /^HTTP\/1\.[01] ([1-5]\d\d)(?: |$)/.exec(first)?.[1]
  if (status === undefined) throw failure(shown, `sent ${JSON.stringify(shownText(first, 80))}`)
  const valuesOf = (name: string): string[] =>
    fields
      .filter((each) => each.toLowerCase().startsWith(`${name}:`))
      .map((each) => each.slice(name.length + 1).trim())
  return {
    status: Number(status),
    contentType: valuesOf('content-type')[0]?.toLowerCase() ?? '',
    schemes: valuesOf('proxy-authenticate')
      .slice(0, 8)
      .map((each) => shownText(/^[!-+\--~]*/.exec(each)?.[0] ?? '', 20).toLowerCase())
      .filter(Boolean),
  }
}
