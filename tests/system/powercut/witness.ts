/** A client that remembers by which connection each answer came, to find the moment of the answer in the recording. */
import { request } from 'node:http'
import type { Fetch } from '@selvedge/client'
import type { Recording } from './recorder/operations.ts'
import type { Step, View } from './subject.ts'

interface Answered {
  /** Port of the client's end of the connection. */
  readonly port: number
}

type Noted = Omit<Step, 'asked' | 'answered'> & { readonly answer: Answered }

export class Witness {
  readonly #port: number
  readonly #notes: Noted[] = []
  #last: Answered | undefined

  /** @param url of the program that is recorded */
  constructor(url: string) {
    this.#port = Number(new URL(url).port)
  }

  /** Each request on a connection of its own. Answers of other programs are not noted. */
  readonly fetch: Fetch = async (url, { method, headers, body }) => {
    const { status, header, text, port } = await ask(url, method, headers, body)
    if (Number(new URL(url).port) === this.#port) this.#last = { port }
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
    if (answer) await answer()
    if (this.#last === undefined) throw new Error(`${what}: the program did not answer`)
    this.#notes.push({ what, about, isIn, answer: this.#last })
  }

  /** @throws Error where an answer is not in the recording */
  steps({ operations }: Recording): Step[] {
    const answers = operations.filter(({ kind }) => kind === 'answer')
    let last: Answered | undefined
    let [asked, answered] = [0, 0]
    return this.#notes.map(({ answer, ...step }) => {
      // One answer may acknowledge several things.
      if (answer !== last) {
        const to = `TCP:[127.0.0.1:${this.#port}->127.0.0.1:${answer.port}]`
        // An earlier connection may have had the same port.
        const found = answers.find((each) => each.at > answered && 'to' in each && each.to === to)
        if (!found) throw new Error(`the recording has no answer to port ${answer.port}`)
        asked = answered
        answered = found.at
      }
      last = answer
      return { ...step, asked, answered }
    })
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
