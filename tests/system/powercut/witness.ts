/** A client that remembers by which connection each answer came, to find the moment of the answer in the recording. */
import { request } from 'node:http'
import type { Fetch } from '@selvedge/client'
import type { Recording } from './recorder/operations.ts'
import type { Step, View } from './subject.ts'

type Noted = Omit<Step, 'asked' | 'answered'> & {
  /** Ports of the client's ends of the connections: of the answer before, and of its own. */
  readonly before: number | undefined
  readonly port: number
}

export class Witness {
  readonly #port: number
  readonly #notes: Noted[] = []
  #last: number | undefined

  /** @param url of the program that is recorded */
  constructor(url: string) {
    this.#port = Number(new URL(url).port)
  }

  /** Each request on a connection of its own. Answers of other programs are not noted. */
  readonly fetch: Fetch = async (url, { method, headers, body }) => {
    const { status, header, text, port } = await ask(url, method, headers, body)
    if (Number(new URL(url).port) === this.#port) this.#last = port
    return { status, headers: { get: header }, text: async () => text }
  }

  /**
   * Notes that what was asked since the last step is acknowledged.
   *
   * @param answer a request whose answer acknowledges it; where the program itself did not answer, it comes after that
   */
  async acknowledged(
    what: string,
    about: string,
    isIn: (view: View) => boolean,
    answer?: () => Promise<unknown>,
  ): Promise<void> {
    const previous = this.#notes.at(-1)
    if (answer) await answer()
    if (this.#last === undefined) throw new Error(`${what}: the program did not answer`)
    // One answer may acknowledge several things.
    const before = previous?.port === this.#last ? previous.before : previous?.port
    this.#notes.push({ what, about, isIn, before, port: this.#last })
  }

  /** @throws Error where an answer is not in the recording */
  steps({ operations }: Recording): Step[] {
    const moments = new Map<string, number>()
    for (const each of operations)
      if (each.kind === 'answer' && !moments.has(each.to)) moments.set(each.to, each.at)
    const momentOf = (port: number) => {
      const found = moments.get(`TCP:[127.0.0.1:${this.#port}->127.0.0.1:${port}]`)
      if (found === undefined) throw new Error(`the recording has no answer to port ${port}`)
      return found
    }
    return this.#notes.map(({ before, port, ...step }) => ({
      ...step,
      asked: before === undefined ? 0 : momentOf(before),
      answered: momentOf(port),
    }))
  }
}

interface Answer {
  readonly status: number
  readonly header: (name: string) => string | null
  readonly text: string
  readonly port: number
}

function ask(
  url: string,
  method: string,
  headers: Record<string, string>,
  body: string | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
    const asked = request(url, { method, agent: false, headers: { ...headers, ...length } }, (response) => {
      const port = response.socket.localPort!
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => {
        const header = (name: string) => {
          const value = response.headers[name.toLowerCase()]
          return value === undefined ? null : String(value)
        }
        resolve({ status: response.statusCode ?? 0, header, text, port })
      })
      response.on('error', reject)
    })
    asked.on('error', reject)
    asked.end(body)
  })
}
