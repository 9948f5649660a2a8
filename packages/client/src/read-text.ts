/** Reads the body of a response as text, up to a limit, because the server decides how long it is. */

/** An answer of `fetch`. One without `body` has its own limit, as that of `./node` has. */
export interface TextAnswer {
  readonly body?: ReadableStream<Uint8Array> | null
  text(): Promise<string>
}

/** `code` of the error of an answer that is larger than its limit. */
export const tooLarge = 'ANSWER_TOO_LARGE'

export const answerTooLarge = (maxBytes: number): Error =>
  Object.assign(new Error(`the answer is larger than ${maxBytes} bytes`), { code: tooLarge })

/**
 * @param maxBytes bytes of the longest body that is accepted
 * @throws Error if it is longer; the rest is not read
 */
export async function readText(answer: TextAnswer, maxBytes: number): Promise<string> {
  if (!answer.body) return answer.text()
  const reader = answer.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return text + decoder.decode()
    size += value.length
    if (size > maxBytes) {
      await reader.cancel()
      throw answerTooLarge(maxBytes)
    }
    text += decoder.decode(value, { stream: true })
  }
}
